/** `2009-08-17 14:05`: sorts as it reads, the same everywhere. Local time. */
export function formatDate(value: string | number | Date): string {
  const date = new Date(value);
  const two = (part: number) => String(part).padStart(2, "0");
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${two(date.getHours())}:${two(date.getMinutes())}`;
}
