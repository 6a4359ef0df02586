/** The search parameters of the catalog's address. */
export interface CatalogSearch {
  book?: string;
  version?: number;
  kind?: string;
  part?: string;
  q?: string;
}
