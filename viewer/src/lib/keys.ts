// What a key does.

export type Action =
  | { kind: "play" }
  | { kind: "step"; by: number }
  | { kind: "speed"; by: number }
  | { kind: "seek"; to: number }
  | { kind: "opening" }
  | { kind: "lens" }
  | { kind: "look" }
  | { kind: "fit" }
  | { kind: "clear" };

type Pressed = Pick<KeyboardEvent, "key" | "shiftKey" | "ctrlKey" | "metaKey" | "altKey">;

/** The action of a key, if it is not for what has the focus: text is typed, a button is pressed by space. */
export function action(event: Pressed, focus: Pick<HTMLElement, "tagName"> & { type?: string } | null): Action | null {
  if (event.ctrlKey || event.metaKey || event.altKey) return null;
  const tag = focus?.tagName ?? "";
  const typing = tag === "TEXTAREA" || tag === "SELECT" || (tag === "INPUT" && focus?.type !== "range");
  if (event.key === "Escape") return { kind: "clear" };
  if (typing) return null;
  const by = event.shiftKey ? 10 : 1;
  switch (event.key) {
    case " ":
      return tag === "BUTTON" || tag === "SUMMARY" ? null : { kind: "play" };
    case "ArrowRight":
      return { kind: "step", by };
    case "ArrowLeft":
      return { kind: "step", by: -by };
    case "+":
    case "=":
      return { kind: "speed", by: 2 };
    case "-":
    case "_":
      return { kind: "speed", by: 0.5 };
    case "Home":
      return { kind: "seek", to: 0 };
    case "End":
      return { kind: "seek", to: 1 };
    case "t":
    case "T":
      return { kind: "opening" };
    case "d":
    case "D":
      return { kind: "lens" };
    case "z":
    case "Z":
      return { kind: "look" };
    case "f":
    case "F":
      return { kind: "fit" };
    default:
      return null;
  }
}
