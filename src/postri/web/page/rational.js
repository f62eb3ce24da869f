// Exact rationals, as the service writes them: "1/2", "0.1", "3". Budgets are compared without
// rounding.

const WRITTEN = /^\s*([+-]?)(\d+)(?:\.(\d*))?(?:\/(\d+))?\s*$/;
const SHORT = 12;

function reduced(top, bottom) {
  let [a, b] = [top < 0n ? -top : top, bottom];
  while (b > 0n) [a, b] = [b, a % b];
  return { top: top / (a || 1n), bottom: bottom / (a || 1n) };
}

/** The rational that a text means, or null. */
export function rational(text) {
  const found = WRITTEN.exec(String(text).replace(/^(\s*[+-]?)\./, "$10."));
  if (!found || (found[3] !== undefined && found[4] !== undefined) || found[4] === "0") return null;
  const [, sign, whole, places = "", under = "1"] = found;
  const top = BigInt(whole + places) * (sign === "-" ? -1n : 1n);
  return reduced(top, BigInt(under) * 10n ** BigInt(places.length));
}

/** What is left of one after another is taken away. */
export function minus(one, other) {
  return reduced(one.top * other.bottom - other.top * one.bottom, one.bottom * other.bottom);
}

/** About what it is. */
export function toNumber({ top, bottom }) {
  return Number(top) / Number(bottom);
}

/** As people write it: a decimal where there is a short one, else a fraction. */
export function plain(value) {
  const number = typeof value === "string" ? rational(value) : value;
  if (number === null) return String(value);
  const places = decimalPlaces(number.bottom);
  if (places === null || places > SHORT) return `${number.top}/${number.bottom}`;
  const digits = String(
    ((number.top < 0n ? -number.top : number.top) * 10n ** BigInt(places)) / number.bottom,
  ).padStart(places + 1, "0");
  const sign = number.top < 0n ? "-" : "";
  return places === 0
    ? sign + digits
    : `${sign}${digits.slice(0, -places)}.${digits.slice(-places)}`;
}

function decimalPlaces(bottom) {
  let [rest, twos, fives] = [bottom, 0, 0];
  while (rest % 2n === 0n) [rest, twos] = [rest / 2n, twos + 1];
  while (rest % 5n === 0n) [rest, fives] = [rest / 5n, fives + 1];
  return rest === 1n ? Math.max(twos, fives) : null;
}
