/** `first_byte_ms` as a type: `firstByteMs`. */
type Camel<Name extends string> = Name extends `${infer Head}_${infer Rest}`
  ? `${Head}${Capitalize<Camel<Rest>>}`
  : Name

export type CamelKeys<T> = { [Name in keyof T as Name extends string ? Camel<Name> : Name]: T[Name] }

/** The same values under the names code uses; one level deep. */
export function camelKeys<T extends object> (map: T): CamelKeys<T> {
  const entries = Object.entries(map).map(([name, value]) => (
    [name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase()), value]
  ))
  return Object.fromEntries(entries) as CamelKeys<T> // what the two types above say of the names
}
