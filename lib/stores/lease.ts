/** A process's claim to rows that it works on; it expires unless renewed. */
export interface Lease {
  readonly owner: string
  readonly untilMs: number
}
