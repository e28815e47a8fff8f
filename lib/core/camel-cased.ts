/**
 * Names of the configuration as names in code. Types only: `validation/camel-case-schema` creates the values.
 */

import type { SecretReference } from '../../schemas/config/secret.ts'
import type { Secret } from './secret.ts'

/** `first_byte_ms` as a type: `firstByteMs`. */
export type CamelCase<Name> = Name extends `${infer Head}_${infer Rest}`
  ? `${Head}${Capitalize<CamelCase<Rest>>}`
  : Name

/**
 * The type of a configuration entry in code, at every depth: names in camel case, secrets in place of
 * references, everything read-only. Keys that the operator chooses remain unchanged.
 */
export type CamelCased<T> =
  T extends SecretReference ? Secret
    : T extends ReadonlyArray<infer Item> ? ReadonlyArray<CamelCased<Item>>
      : T extends object
        ? string extends keyof T
          ? { readonly [Name in keyof T]: CamelCased<T[Name]> }
          : { readonly [Name in keyof T as CamelCase<Name>]: CamelCased<T[Name]> }
        : T
