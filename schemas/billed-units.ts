/**
 * The table of units that calls are billed by. A row is everything that prices, usage rows and their sums,
 * the admin API, call filters, the dashboard, the log and exports know about a unit. Its key is the name of
 * the unit in code: in estimates, usual and maximum, and in the usage of a call (`core/usage`).
 */

/** The column of the unit in usage rows, if they have one. */
interface Recorded {
  readonly column: string
  /** The integer in the column for one unit: 1000 for seconds stored in milliseconds. Default 1. */
  readonly perUnit?: number
  /** The name of the amount in sums, if it differs from the column. */
  readonly sum?: string
  /** The name of the amount in the log, if it differs from that in sums. */
  readonly log?: string
  /** Follows "At least this many", and counts in units of the column. */
  readonly noun: string
  /** In the dashboard. */
  readonly label: string
}

export interface TokenKind {
  /** The kind that it is a part of, and whose price it has if it has none. No token is billed twice. */
  readonly partOf?: string
  readonly recorded?: Recorded
  /** Of a million tokens. */
  readonly price?: { readonly field: string, readonly description: string }
}

/** A unit other than tokens. */
export interface BilledUnit {
  readonly recorded: Recorded
  /** The price of `per` units; without `per`, a list of prices by size and quality. */
  readonly price: {
    readonly field: string
    readonly per?: number
    readonly description: string
    /** Follows the price in the dashboard. */
    readonly suffix?: string
  }
  /** True if the request determines the usage: it counts once a provider may have started. */
  readonly ofRequest?: true
}

export const tokenKinds = {
  promptTokens: {
    recorded: { column: 'prompt_tokens', noun: 'prompt tokens', label: 'Prompt tokens' },
    price: { field: 'input', description: 'Input tokens.' }
  },
  completionTokens: {
    recorded: { column: 'completion_tokens', noun: 'completion tokens', label: 'Completion tokens' },
    price: { field: 'output', description: 'Output tokens.' }
  },
  cachedTokens: {
    partOf: 'promptTokens',
    recorded: { column: 'cached_tokens', noun: 'tokens from a cache', label: 'Tokens from a cache' },
    price: { field: 'cached_input', description: 'Input found in the cache.' }
  },
  cacheWriteTokens: {
    partOf: 'promptTokens',
    recorded: { column: 'cache_write_tokens', noun: 'tokens into a cache', label: 'Tokens into a cache' },
    price: { field: 'cache_write', description: 'Input written to the cache.' }
  },
  cacheWriteHourTokens: {
    partOf: 'cacheWriteTokens',
    price: { field: 'cache_write_hour', description: 'Input written to the cache for an hour.' }
  },
  promptAudioTokens: {
    partOf: 'promptTokens',
    price: { field: 'audio_input', description: 'Input audio tokens.' }
  },
  completionAudioTokens: {
    partOf: 'completionTokens',
    price: { field: 'audio_output', description: 'Output audio tokens.' }
  },
  promptImageTokens: {
    partOf: 'promptTokens',
    price: { field: 'image_input', description: 'Input tokens of images.' }
  },
  reasoningTokens: {
    partOf: 'completionTokens',
    recorded: { column: 'reasoning_tokens', noun: 'tokens for reasoning', label: 'Tokens for reasoning' }
  },
  acceptedPredictionTokens: { partOf: 'completionTokens' },
  rejectedPredictionTokens: { partOf: 'completionTokens' }
} as const satisfies Readonly<Record<string, TokenKind>>

/** Units billed instead of tokens. */
export const nonTokenUnits = {
  images: {
    recorded: { column: 'images', noun: 'images', label: 'Images' },
    price: {
      field: 'images',
      description:
        'Prices of images the model makes, where it reports no tokens. If size or quality is unknown, the first matching ' +
        'price is billed and the highest reserved.'
    }
  },
  audioSeconds: {
    recorded: {
      column: 'audio_ms',
      perUnit: 1000,
      sum: 'audio_seconds',
      noun: 'milliseconds of audio',
      label: 'Audio'
    },
    price: { field: 'per_minute', per: 60, description: 'USD per minute of a recording.', suffix: 'a minute' }
  },
  characters: {
    recorded: { column: 'characters', log: 'spoken_characters', noun: 'characters', label: 'Characters' },
    price: {
      field: 'per_million_characters',
      per: 1e6,
      description: 'USD per million characters of speech.',
      suffix: 'per 1M characters'
    },
    ofRequest: true
  },
  pages: {
    recorded: { column: 'pages', noun: 'pages', label: 'Pages' },
    price: {
      field: 'per_thousand_pages',
      per: 1000,
      description: 'USD per thousand pages of a document.',
      suffix: 'per 1,000 pages'
    }
  }
} as const satisfies Readonly<Record<string, BilledUnit>>

/** Units billed in addition to the tokens of an answer, and reported with them. */
export const unitsBesideTokens = {
  searches: {
    recorded: { column: 'searches', noun: 'searches', label: 'Searches' },
    price: {
      field: 'per_thousand_searches',
      per: 1000,
      description: 'USD per thousand searches of the web, in addition to the tokens.'
    }
  }
} as const satisfies Readonly<Record<string, BilledUnit>>

export type TokenKindName = keyof typeof tokenKinds
export type NonTokenUnit = keyof typeof nonTokenUnits
export type NameBesideTokens = keyof typeof unitsBesideTokens

type Units = typeof tokenKinds & typeof nonTokenUnits & typeof unitsBesideTokens
export type UnitName = keyof Units

/** The columns of the units that have one. */
type ColumnOf<Name extends UnitName> = Units[Name] extends {
  readonly recorded: { readonly column: infer Column extends string }
}
  ? Column
  : never
export type UnitColumn = { [Name in UnitName]: ColumnOf<Name> }[UnitName]
export type NonTokenColumn = ColumnOf<NonTokenUnit>

/** The name of each unit in sums. */
type SumOf<Name extends UnitName> = Units[Name] extends {
  readonly recorded: { readonly sum: infer Sum extends string }
}
  ? Sum
  : ColumnOf<Name>
export type UnitSum = { [Name in UnitName]: SumOf<Name> }[UnitName]

/** A unit that usage rows have, with defaults filled in. */
export interface RecordedUnit<Column extends UnitColumn = UnitColumn> extends Required<
  Omit<Recorded, 'column' | 'sum'>
> {
  readonly name: UnitName
  readonly column: Column
  readonly sum: UnitSum
  /** The column of the tokens that this unit is part of. */
  readonly partOf: UnitColumn | undefined
}

const rows: ReadonlyArray<readonly [string, TokenKind | BilledUnit]> = [
  tokenKinds,
  nonTokenUnits,
  unitsBesideTokens
].flatMap(table => Object.entries(table))

/** The units that usage rows have, in the order of the tables. */
export const recordedUnits: readonly RecordedUnit[] = rows.flatMap(([name, unit]) => {
  const { recorded } = unit
  if (recorded === undefined) return []
  const { column, perUnit = 1, sum = column, log = sum } = recorded
  const whole =
    'partOf' in unit ? rows.find(([other]) => other === unit.partOf)?.[1].recorded?.column : undefined
  // names and columns are those of the tables
  return [{ ...recorded, perUnit, sum, log, name, column, partOf: whole } as RecordedUnit]
})

/** The recorded units that are billed in place of tokens. */
export const recordedNonTokenUnits = recordedUnits.filter(
  ({ name }) => name in nonTokenUnits
) as ReadonlyArray<RecordedUnit<NonTokenColumn>>

/** Returns what a column has for one unit: 1000 for milliseconds of audio, of which limits count seconds. */
export function perUnitOf (column: string): number {
  return recordedUnits.find(unit => unit.column === column)?.perUnit ?? 1
}

export const unitColumns: readonly UnitColumn[] = recordedUnits.map(({ column }) => column)

/** Makes an object with a member for each column of a unit. */
export function byUnitColumn<T> (valueOf: (unit: RecordedUnit) => T): Record<UnitColumn, T> {
  const values: Partial<Record<UnitColumn, T>> = {}
  for (const unit of recordedUnits) values[unit.column] = valueOf(unit)
  return values as Record<UnitColumn, T> // every column now has a value
}
