import { randomBytes } from 'node:crypto'

/** A text that JSON prints as it is, and that no caller and no provider can know; of ASCII, because one other letter makes a wide text of all of it. */
export const placeholder = randomBytes(16).toString('hex')
