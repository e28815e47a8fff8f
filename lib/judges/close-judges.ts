import type { Judge } from '../guards/text-judge.ts'

/** Closes guards that will not be used. Errors are ignored so that they do not hide the original one. */
export async function closeJudges (judges: ReadonlyMap<string, Judge>): Promise<void> {
  await Promise.allSettled([...judges.values()].map(async judge => await judge.close?.()))
}
