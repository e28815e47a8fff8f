import type { ByteAllowance } from '../../lib/http/admission.ts'

/** Takes whatever is requested: for tests that are about something else. */
export const unbounded: ByteAllowance = { leavesHalfFree: () => true, take: () => undefined }

/** Takes whatever is requested, but nothing is cheap: as if all but the last of it were in use. */
export const scarce: ByteAllowance = { leavesHalfFree: () => false, take: () => undefined }
