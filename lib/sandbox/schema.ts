/** A JSON schema as received: any keyword may have any value, so each is read with care. */

export type Schema = Readonly<Record<string, unknown>>
