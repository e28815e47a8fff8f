/** Moves along a chart with the arrow keys, and selects a range with Shift. */

/** Indexes of buckets; the second is the current one. */
export interface Stretch { readonly from: number, readonly to: number }

const steps: Readonly<Record<string, number>> = {
  ArrowLeft: -1,
  ArrowRight: 1,
  PageUp: -24,
  PageDown: 24,
  Home: -Infinity,
  End: Infinity
}

/** Returns the range after a key press; `undefined` for a key that does not move. */
export function movedBy (
  { key, shiftKey }: KeyboardEvent,
  former: Stretch | undefined,
  last: number
): Stretch | undefined {
  const step = steps[key]
  if (step === undefined) return undefined
  const to = Math.min(last, Math.max(0, (former?.to ?? (step > 0 ? -1 : last + 1)) + step))
  return { from: shiftKey && former !== undefined ? former.from : to, to }
}

/** Returns its first and its last bucket. */
export function endsOf ({ from, to }: Stretch): readonly [first: number, last: number] {
  return [Math.min(from, to), Math.max(from, to)]
}
