"""What a user should know about the values a run starts from."""

from daedal.systems import InitialValues


def start_notes(start: InitialValues) -> list[str]:
    """Freedom that `initial` leaves open, and values that were held needlessly."""
    notes = []
    if start.open:
        shown = [f"{name} = {value:g}" for name, value in start.open.items()]
        more = f" and {len(shown) - 8} more" if len(shown) > 8 else ""
        notes.append(f"left open by initial, held at the guess: {', '.join(shown[:8])}{more}")
    if start.redundant:
        notes.append(
            f"held at the start although the equations already imply one of them: {', '.join(start.redundant)}"
        )
    return notes
