import type { Holding } from '../../lib/http/admission.ts'

/** Takes whatever is asked for: for tests that are about something else. */
export const unbounded: Holding = { isCheap: () => true, take: () => undefined }
