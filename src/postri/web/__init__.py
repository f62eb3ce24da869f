"""The service: a policy's datasets behind HTTP, for many analysts with one budget.

A request passes the gate (its token, its rate, its size) before its body is read. Questions are
answered by sessions, on threads, and their answers leave on a time grid. The page of `page/` uses
the same API as everybody. Only this package loads FastAPI, Starlette and uvicorn.
"""
