import type { Judge } from '../guards/text-judge.ts'

/** Closes guards that are not used after all. What fails meanwhile does not hide why. */
export async function closeJudges (judges: ReadonlyMap<string, Judge>): Promise<void> {
  await Promise.allSettled([...judges.values()].map(async judge => await judge.close?.()))
}
