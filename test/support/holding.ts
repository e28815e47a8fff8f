import type { Reservation } from '../../lib/http/admission.ts'

/** Takes whatever is requested: for tests that are about something else. */
export const unbounded: Reservation = { isCheap: () => true, take: () => undefined }
