/** All notes of a plan or of a run, and the actions on a note. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { ApiError, api, take } from "@/api/client";
import type { Note } from "@/api/types";
import { toast } from "@/ui/toast";

const PAGE = 200;
const KEY = "notes";

export type NotesOf = { plan: string; revision: number } | { run: string };

/** Every note; a plan or a run has at most a thousand, which are five pages. */
export function useNotes(of: NotesOf | null) {
  return useQuery({
    queryKey: [KEY, of],
    enabled: of !== null,
    queryFn: ({ signal }) => readNotes(of!, signal),
    // Others write too.
    staleTime: 0,
  });
}

export async function readNotes(of: NotesOf, signal?: AbortSignal): Promise<Note[]> {
  const notes: Note[] = [];
  let cursor: string | undefined;
  do {
    const page = await take(
      "plan" in of
        ? api.GET("/api/v1/plans/{id}/notes", {
            params: { path: { id: of.plan }, query: { revision: of.revision, cursor, limit: PAGE } },
            signal,
          })
        : api.GET("/api/v1/runs/{id}/notes", {
            params: { path: { id: of.run }, query: { cursor, limit: PAGE } },
            signal,
          }),
    );
    notes.push(...page.items);
    cursor = page.next ?? undefined;
  } while (cursor !== undefined);
  return notes;
}

export type NoteOrders = ReturnType<typeof useNoteOrders>;

/** Editing, resolving and deleting a note. Errors are shown. */
export function useNoteOrders() {
  const client = useQueryClient();
  const refresh = () => client.invalidateQueries({ queryKey: [KEY] });
  const onError = (error: unknown) => {
    if (error instanceof ApiError && error.status === 409) void refresh();
    toast(error instanceof Error ? error.message : String(error), "error");
  };
  const change = useMutation({
    mutationFn: ({ id, ...body }: { id: string; text?: string; base_version?: number; resolved?: boolean }) =>
      take(api.PATCH("/api/v1/notes/{id}", { params: { path: { id } }, body })),
    onSuccess: refresh,
    onError,
  });
  const remove = useMutation({
    mutationFn: (id: string) => take(api.DELETE("/api/v1/notes/{id}", { params: { path: { id } } })),
    onSuccess: refresh,
    onError,
  });
  return { change, remove };
}

export interface Place {
  kind: "rack" | "device" | "cable";
  name: string;
}

export const pinToPlan = (plan: string, revision: number, anchor: Place, text: string): Promise<Note> =>
  take(
    api.POST("/api/v1/plans/{id}/notes", {
      params: { path: { id: plan } },
      body: { anchor, text, revision },
    }),
  );

/** Writes a new note: `write` sends it. */
export function useNewNote(write: (text: string) => Promise<Note>) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: write,
    onSuccess: () => client.invalidateQueries({ queryKey: [KEY] }),
    onError: (error) => toast(error.message, "error"),
  });
}
