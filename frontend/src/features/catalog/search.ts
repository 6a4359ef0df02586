/** What the catalog's address holds. */
export interface CatalogSearch {
  book?: string;
  version?: number;
  kind?: string;
  part?: string;
  q?: string;
}
