/** The claim of a process to rows that it works on: it ends unless it is renewed. */
export interface Lease {
  readonly owner: string
  readonly untilMs: number
}
