/**
 * True in continuous integration: slow properties are tried with all values, and the growth of work up to the
 * largest inputs.
 */
export const allRounds = process.env['HEADGATE_TEST_ROUNDS'] === 'all'

/**
 * Why a long test does not run, if it does not: one that builds a release, compares whole gateways under
 * load, fills a small heap, or kills processes again and again.
 */
export const shortRun = allRounds ? false : 'HEADGATE_TEST_ROUNDS is not `all`'

/** Returns the number of values for a slow property: all with `HEADGATE_TEST_ROUNDS=all`, else a quarter. */
export function rounds (all: number): number {
  return allRounds ? all : Math.ceil(all / 4)
}
