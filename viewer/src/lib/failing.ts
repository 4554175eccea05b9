// What the page says when it fails where nobody expected it: never a blank page.

/** A browser tells by an error that sizes settle a frame later, which is none. */
const HARMLESS = /^ResizeObserver loop/;

/** Shows in `target` any error that nobody caught, in place of what can no longer be drawn. */
export function explain(target: HTMLElement): void {
  addEventListener("error", (event) => HARMLESS.test(event.message) || say(target, event.error ?? event.message));
  addEventListener("unhandledrejection", (event) => say(target, event.reason));
}

function say(target: HTMLElement, reason: unknown): void {
  const message = reason instanceof Error ? reason.message : String(reason);
  const box = document.createElement("div");
  box.className = "failed";
  box.setAttribute("role", "alert");
  box.append(
    part("h2", "The page cannot be drawn"),
    part("p", "This is a bug of Backwater. Its makers need this line, and the command that made the run:"),
    part("pre", message),
    part("p", "The results themselves are not affected: backwater describe and backwater blame show them."),
  );
  target.replaceChildren(box);
}

function part(name: string, text: string): HTMLElement {
  const made = document.createElement(name);
  made.textContent = text;
  return made;
}
