"""`python -m flowbench_synth.dialogue.check_role ROLE…` checks the conventions of roles; without names, of all."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from flowbench_synth.dialogue.blueprint import RoleBlueprint
from flowbench_synth.dialogue.conventions import role_problems, shared_names
from flowbench_synth.dialogue.roles import role_names, role_of
from flowbench_synth.dialogue.trying import trial_problems
from flowmind.base.errors import FlowMindError
from flowmind.base.texts import one_line


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the conventions that roles break. Exit codes: 0 none, 1 some, 2 there is no such role."""
    names = list(sys.argv[1:] if arguments is None else arguments)
    try:
        roles = [role_of(name) for name in names or role_names()]
    except FlowMindError as error:
        print(f"check_role: {one_line(str(error))}", file=sys.stderr)
        return 2
    problems = [problem for role in roles for problem in checked(role)]
    problems += shared_names(roles)
    for problem in problems:
        print(problem)
    scenarios = sum(len(role.scenarios) for role in roles)
    print(f"{len(roles)} roles, {scenarios} scenarios: {f'{len(problems)} problems' if problems else 'sound'}")
    return 1 if problems else 0


def checked(role: RoleBlueprint) -> list[str]:
    """The conventions that a role breaks; it is run if its blueprint breaks none."""
    return role_problems(role) or trial_problems(role)


if __name__ == "__main__":
    sys.exit(main())
