import type { ByteReservation } from '../../lib/http/admission.ts'

/** Takes whatever is requested: for tests that are about something else. */
export const unbounded: ByteReservation = { leavesHalfFree: () => true, take: () => undefined }

/** Takes whatever is requested, but nothing is cheap: as if all but the last of it were in use. */
export const scarce: ByteReservation = { leavesHalfFree: () => false, take: () => undefined }
