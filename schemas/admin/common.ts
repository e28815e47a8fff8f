/**
 * The building blocks of the admin API, `/admin/v1`.
 *
 * Times are Unix milliseconds (`_ms`), money is USD. A change contains only the fields to change: an absent
 * field stays as it is, `null` removes it.
 */

import { Type, type Static, type TObject, type TProperties, type TSchema } from 'typebox'
import { OneOf } from '../nullable.ts'
import { scopeNames } from './scope-names.ts'

/** Returns the body of a request; unknown fields are errors. */
export function Request<T extends TProperties> (properties: T, description?: string): TObject<T> {
  return Type.Object(properties, {
    additionalProperties: false,
    ...description !== undefined && { description }
  })
}

/** Returns a field that is always present, with `null` for no value. */
export function OrNull<T extends TSchema> (schema: T, description?: string) {
  return Type.Union([schema, Type.Null()], { ...description !== undefined && { description } })
}

/** Returns a field of a change: absent leaves it as it is, `null` removes it. */
export function Change<T extends TSchema> (schema: T) {
  return Type.Optional(Type.Union([schema, Type.Null()]))
}

/** Returns one page of a list, newest entries first unless the route states otherwise. */
export function Page<T extends TSchema> (entry: T) {
  return Type.Object({
    object: Type.Literal('list'),
    data: Type.Array(entry),
    next_cursor: OrNull(Type.String(), 'Send it as `cursor` for the next page; `null` on the last one.')
  })
}

/** The maximum of a `Date`. */
export const maxMilliseconds = 8_640_000_000_000_000
export const Milliseconds = Type.Integer({
  minimum: 0,
  maximum: maxMilliseconds,
  description: 'Unix time in milliseconds.'
})
export const Id = Type.String({ minLength: 1, maxLength: 128 })
export const maxNameLength = 100
/** A name that people read. */
export const Name = Type.String({ minLength: 1, maxLength: maxNameLength, pattern: '\\S' })
export const Email = Type.String({
  minLength: 3,
  maxLength: 254,
  pattern: '^[^\\s@<>"]+@[^\\s@<>"]+$',
  description: 'Compared without regard to case.'
})
export const Password = Type.String({
  minLength: 12,
  maxLength: 256,
  description: 'At least 12 characters, and not a common password.'
})

/**
 * The roles of users, highest first. Owners and admins see every project, other users those they are members
 * of.
 */
export const roleNames = ['owner', 'admin', 'member', 'viewer'] as const
export const Role = OneOf([...roleNames])
export type Role = Static<typeof Role>

export const Scope = OneOf([...scopeNames])
export type Scope = Static<typeof Scope>

/** An answer without content. */
export const Done = Type.Object({ done: Type.Literal(true) })
export type Done = Static<typeof Done>

/** The answer to a request that deleted or revoked something. */
export const Deleted = Type.Object({ id: Type.String(), deleted: Type.Literal(true) })
export type Deleted = Static<typeof Deleted>

/** A one-time link. The token is in its fragment, which browsers do not send. */
export const OneTimeLink = Type.Object({
  url: Type.String({ description: 'Shown once. `…/dashboard/#/link/TOKEN`, or `#/invitation/TOKEN`.' }),
  expires_at_ms: Milliseconds
})
export type OneTimeLink = Static<typeof OneTimeLink>

export interface QueryParameter {
  readonly description: string
  readonly type: 'string' | 'integer' | 'boolean'
}

/** Describes filters by their subject: each takes a comma-separated list. */
export function onlyThese<N extends string> (
  filters: Readonly<Record<N, string>>
): Readonly<Record<N, QueryParameter>> {
  const described = Object.entries<string>(filters).map(([name, what]) => [
    name,
    {
      description: `Only these ${what}; several with commas. Write \`\\,\` for a comma in a name, and \`\\\\\` for a backslash.`,
      type: 'string'
    }
  ])
  return Object.fromEntries(described) as Record<N, QueryParameter> // of the same names
}

/** Describes filters of numbers by what they count: from `min_…` to `max_…`, both included. */
export function between<N extends string> (
  numbers: Readonly<Record<N, string>>,
  type: QueryParameter['type'] = 'integer'
): Readonly<Record<`min_${N}` | `max_${N}`, QueryParameter>> {
  const described = Object.entries<string>(numbers).flatMap(([name, what]) => [
    [`min_${name}`, { description: `At least this many ${what}.`, type }],
    [`max_${name}`, { description: `At most this many ${what}.`, type }]
  ])
  return Object.fromEntries(described) as Record<`min_${N}` | `max_${N}`, QueryParameter> // of the same names
}

/** The parameters of every list. */
export const pageQuery = {
  limit: { description: 'Number of entries, from 1 to 200. Default: 50.', type: 'integer' },
  cursor: { description: '`next_cursor` of the previous page.', type: 'string' }
} as const satisfies Record<string, QueryParameter>
