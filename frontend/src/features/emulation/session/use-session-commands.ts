import { useMemo } from "react";
import { type Command, useCommands } from "@/shared/shell/commands";

/** The commands of a session in the command palette. */
export function useSessionCommands({
  over,
  injecting,
  onStopAll,
  onInjecting,
  onReplay,
}: {
  over: boolean;
  injecting: boolean;
  onStopAll: () => void;
  onInjecting: (on: boolean) => void;
  onReplay: () => void;
}) {
  const commands = useMemo<Command[]>(
    () => [
      ...(over
        ? []
        : [
            {
              id: "stop-all",
              title: "Recover all faults",
              group: "Run",
              keys: "mod+.",
              run: onStopAll,
            },
            {
              id: "inject-mode",
              title: injecting ? "Leave inject mode" : "Inject a fault (inject mode)",
              group: "Run",
              run: () => onInjecting(!injecting),
            },
          ]),
      {
        id: "replay-begin",
        title: "Replay from the beginning",
        group: "Run",
        icon: "play" as const,
        run: () => onReplay(),
      },
    ],
    [over, injecting, onStopAll, onInjecting, onReplay],
  );
  useCommands("emulation", commands);
}
