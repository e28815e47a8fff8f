/**
 * True in continuous integration: slow properties are tried with all values, and the growth of work up to the
 * largest inputs.
 */
export const allRounds = process.env['HEADGATE_TEST_ROUNDS'] === 'all'

/** Returns the number of values for a slow property: all with `HEADGATE_TEST_ROUNDS=all`, else a quarter. */
export function rounds (all: number): number {
  return allRounds ? all : Math.ceil(all / 4)
}
