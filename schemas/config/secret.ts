/** Entries with the location of a secret. */

import { Type } from 'typebox'
import { Named } from './entries.ts'

/** The location of a secret; any other value may be the secret itself. */
export const secretReference = '^(env:[A-Za-z_][A-Za-z0-9_]*|file:.+)$'

declare const namesSecret: unique symbol

/** `env:NAME` or `file:PATH`, recognised so that settings can have the secret in its place. */
export type SecretReference = string & { readonly [namesSecret]: true }

export const notReferenced =
  'must be env:NAME, a variable of letters, digits and _, or file:PATH, never the secret itself'

const howToWrite =
  ' As `env:NAME` or `file:PATH`, never the secret itself; white space around it is ignored.'

/**
 * Returns the description of a secret without the note on how to write one, for a page that shows the note
 * once.
 */
export function withoutNote (description: string): string {
  return description.replace(howToWrite, '')
}

/** Returns an entry for the location of a secret. */
export const Secret = (description: string) => Type.Unsafe<SecretReference>({
  type: 'string',
  pattern: secretReference,
  patternErrorMessage: notReferenced,
  description: description + howToWrite
})

export const headerName = {
  pattern: '^[A-Za-z0-9!#$%&\'*+.^_`|~-]+$',
  patternErrorMessage: 'is not the name of a header'
}

/** Returns a map from header names to the locations of their values. */
export const Headers = (description: string) =>
  Named(Secret('Value of this header.'), description, headerName)
