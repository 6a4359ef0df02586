/** A family keeps its colour in every chart that compares families. */

/** By what names of series and titles of plans begin with; a family's place is its look. */
const FAMILIES = [
  /^(partial )?bcube/i,
  /^(partial )?dcell/i,
  /^(partial )?(2d torus|torus|camcube)/i,
  /^(partial )?fat-tree/i,
  /^(partial )?(the )?(two-level )?tree/i,
  /^(partial )?subways/i,
  /^(partial )?leaf-spine/i,
  /^(partial )?jellyfish/i,
  /^(partial )?dragonfly/i,
  /^custom/i,
];

/** As many as there are colours. */
const LOOKS = 6;

/**
 * Looks of series by their names. If several families are compared, the first series of each gets
 * its family's look, and the others get the remaining ones; otherwise looks are numbered in order.
 */
export function familyLooks(names: readonly string[]): number[] {
  const families = names.map((name) => FAMILIES.findIndex((family) => family.test(name)));
  const compared = new Set(families.filter((family) => family >= 0));
  if (compared.size < 2) return names.map((_, at) => at);
  const isFirst = (family: number, at: number) => family >= 0 && families.indexOf(family) === at;
  const taken = new Set([...compared].map((family) => family % LOOKS));
  const free = Array.from({ length: LOOKS }, (_, look) => look).filter((look) => !taken.has(look));
  return families.map((family, at) => (isFirst(family, at) ? family : (free.shift() ?? LOOKS + at)));
}
