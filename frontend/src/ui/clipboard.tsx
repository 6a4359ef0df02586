import { useEffect, useState } from "react";
import { Button, type ButtonProps } from "./button";
import { toast } from "./toast";

/** Copies; where the clipboard API is missing or refused, falls back to a selected text area. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = document.createElement("textarea");
    area.value = text;
    area.style.position = "fixed";
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}

export function CopyButton({
  text,
  children = "Copy",
  ...rest
}: ButtonProps & { text: string | (() => string) }) {
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => setCopied(false), 1500);
    return () => clearTimeout(timer);
  }, [copied]);
  return (
    <Button
      small
      icon={copied ? "check" : "copy"}
      {...rest}
      onClick={async () => {
        const done = await copyText(typeof text === "function" ? text() : text);
        setCopied(done);
        if (!done) toast("The browser blocked access to the clipboard", "error");
      }}
    >
      {copied ? "Copied" : children}
    </Button>
  );
}
