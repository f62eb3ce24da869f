"""The policy: the steward's file, which says what may be asked of which data, and what it may cost.

`read_policy` reads the file, `check_policy` compares it with the sources, `open_dataset` opens one,
`look` and `look_at_file` show the steward what types and bounds do to the rows, and `skeleton`
writes a first file from a schema. `people_of` and `check_people` say whom datasets are about, and
which of them share their spends. Only the looks read rows.
"""

from postri.policy.checking import Vouched, check_policy, open_dataset
from postri.policy.looking import ColumnLook, Look, UnitLook, look, look_at_file
from postri.policy.model import ColumnPolicy, Dataset, Policy, ServicePolicy
from postri.policy.people import check_people, located_people, people_of
from postri.policy.reading import read_policy
from postri.policy.skeleton import skeleton

__all__ = [
    "ColumnLook",
    "ColumnPolicy",
    "Dataset",
    "Look",
    "Policy",
    "ServicePolicy",
    "UnitLook",
    "Vouched",
    "check_people",
    "check_policy",
    "located_people",
    "look",
    "look_at_file",
    "open_dataset",
    "people_of",
    "read_policy",
    "skeleton",
]
