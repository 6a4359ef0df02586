import { ApiError } from "@/api/client";
import { Button } from "@/ui/button";

export type Mark = "point" | "comma";

/** Whether the file could be read if the user chose the decimal mark. */
export const asksForDecimal = (error: unknown): boolean =>
  error instanceof ApiError && error.errors.some(({ field }) => field === "query.decimal");

/** Two buttons that answer which mark the numbers of a file have; nothing for other errors. */
export function DecimalQuestion({ error, onAnswer }: { error: unknown; onAnswer: (mark: Mark) => void }) {
  if (!asksForDecimal(error)) return null;
  return (
    <p>
      Which mark is the decimal one?{" "}
      <Button small onClick={() => onAnswer("point")}>
        Point: 1.5
      </Button>{" "}
      <Button small onClick={() => onAnswer("comma")}>
        Comma: 1,5
      </Button>
    </p>
  );
}
