/** What calls use of each billed unit (`schemas/billed-units`). */

import {
  tokenKinds,
  type NameBesideTokens,
  type NonTokenUnit,
  type TokenKind,
  type TokenKindName,
  type UnitName
} from '../../schemas/billed-units.ts'

type Always = 'promptTokens' | 'completionTokens'

/**
 * Tokens as the provider counted them, and what it bills besides them. Absent and zero differ: absent was not
 * reported. `cacheWriteHourTokens` are a part of `cacheWriteTokens`, written for an hour.
 */
export interface Usage extends
  Readonly<Record<Always | 'totalTokens', number>>,
  Readonly<Partial<Record<Exclude<TokenKindName, Always> | NameBesideTokens, number>>> {
  /** Images that a tool of the provider generated. They have no price. */
  readonly images?: number
}

/** Returns the usage of an answer by its tokens alone. */
export function usageOfTokens (promptTokens: number, completionTokens: number): Usage {
  return { promptTokens, completionTokens, totalTokens: promptTokens + completionTokens }
}

/** The maximum of any count that one call may report. */
export const maxCount = 1e9

/**
 * Returns the usage that a provider reported; `undefined` where a count is impossible, or where all are zero,
 * as from servers that do not count: no caller gets such numbers, and the usage is estimated.
 */
export function possibleUsage (usage: Usage): Usage | undefined {
  const counts = Object.values(usage)
  return counts.every(count => count <= maxCount) && counts.some(count => count > 0) ? usage : undefined
}

/** Kinds of tokens that are parts of another kind; each comes after the kind it is part of. */
const partsOfWholes = Object.entries<TokenKind>(tokenKinds).flatMap(([name, { partOf }]) =>
  partOf === undefined ? [] : [[name, partOf] as [part: TokenKindName, whole: TokenKindName]] // of the table
)

/**
 * Returns usage in which no kind of tokens exceeds the kind that it is part of: servers have reported more
 * cached tokens than the prompt has.
 */
export function capParts (usage: Usage): Usage {
  let bounded: Partial<Record<TokenKindName, number>> | undefined
  for (const [part, whole] of partsOfWholes) {
    const most = bounded?.[whole] ?? usage[whole]
    if (most !== undefined && (usage[part] ?? 0) > most) (bounded ??= {})[part] = most
  }
  return bounded === undefined ? usage : { ...usage, ...bounded }
}

/** Characters of text per token in most languages: for estimates, if a provider reports nothing. */
export const charactersPerToken = 4

/** What providers have reported about an answer, possibly incomplete. */
export interface ReportedUsage {
  /** The last report of each request: a lower bound of its usage. */
  readonly requests: readonly Usage[]
  /** Number of requests without any report, not even of the length of the prompt. */
  readonly unreported: number
}

/** Returns the known usage of one request from its last report. */
export function reportedBy (usage: Usage | undefined): ReportedUsage {
  return usage === undefined ? { requests: [], unreported: 1 } : { requests: [usage], unreported: 0 }
}

/** Adds up the known usage of several requests. */
export function addReported (sum: ReportedUsage, one: ReportedUsage): ReportedUsage {
  return { requests: [...sum.requests, ...one.requests], unreported: sum.unreported + one.unreported }
}

/**
 * Estimates the requests of an answer whose provider did not report all of it: their prompts as reported; for
 * the rest, the reported tokens or a token for four characters of its text, whichever is more.
 *
 * @param promptTokens estimated for each request without any report
 * @returns at least one. Each is priced separately, since long prompts have other prices
 */
export function estimatedRequests (
  { requests, unreported }: ReportedUsage,
  promptTokens: number,
  characters: number
): readonly Usage[] {
  const unknown = Array.from({ length: unreported }, () => usageOfTokens(promptTokens, 0))
  const all = [...requests, ...unknown]
  if (all.length === 0) all.push(usageOfTokens(0, 0))
  const known = all.reduce((sum, { completionTokens }) => sum + completionTokens, 0)
  const missing = Math.max(0, Math.ceil(characters / charactersPerToken) - known)
  // Text that nobody has counted belongs to a request that has not ended, and these come last.
  return all.map((usage, index) => ({
    ...usage,
    ...usageOfTokens(usage.promptTokens, usage.completionTokens + (index === all.length - 1 ? missing : 0))
  }))
}

/** Adds up the usage of at least one request. */
export function sumOfUsage (requests: readonly Usage[]): Usage {
  return requests.reduce<Usage | undefined>(addUsage, undefined) ?? usageOfTokens(0, 0)
}

/** The cost of a call, from its record. */
export interface UsageCost {
  /** In US dollars; `null` if no price is known. */
  readonly usd: number | null
  readonly isEstimated: boolean
  /** The tokens of its record: an estimate if the provider reports none. */
  readonly usage: Usage
}

/** Returns the cost fields in `usage` of an answer, in any dialect; none if the answer must not show them. */
export function costFields (
  cost: UsageCost | undefined
): { readonly cost?: number | null, readonly cost_status?: 'estimated' | 'unpriced' } {
  if (cost === undefined) return {}
  if (cost.usd === null) return { cost: null, cost_status: 'unpriced' }
  return { cost: cost.usd, ...cost.isEstimated && { cost_status: 'estimated' } }
}

/** Adds up the usage of the turns of an answer; what none of them reported stays absent. */
export function addUsage (sum: Usage | undefined, usage: Usage | undefined): Usage | undefined {
  if (sum === undefined || usage === undefined) return sum ?? usage
  const total: Record<string, number> = {}
  for (const part of [sum, usage]) {
    for (const [name, tokens] of Object.entries(part)) total[name] = (total[name] ?? 0) + Number(tokens)
  }
  return { ...sum, ...total }
}

/** Units by which a call is billed instead of tokens. */
export interface Units extends Readonly<
  Partial<Record<Exclude<NonTokenUnit, 'images'>, number | undefined>>
> {
  readonly images?: Images | undefined
}

/** Images of one size and quality; `auto` and absent are unknown. */
export interface Images {
  readonly count: number
  readonly size?: string | undefined
  readonly quality?: string | undefined
}

type Amounts = Readonly<Partial<Record<UnitName, number>>>

/** Returns the used amount of a unit, if it is known. */
export function amountOf (
  name: UnitName,
  usage: Usage | undefined,
  units: Units | undefined
): number | undefined {
  if (name === 'images') return units?.images?.count ?? usage?.images
  const withTokens: Amounts | undefined = usage
  const otherUnits = units as Amounts | undefined // except images, which are handled above
  return withTokens?.[name] ?? otherUnits?.[name]
}

/** An estimate of the usage of a request: units, or tokens if a model is billed by them. */
export interface EstimatedUnits extends Units {
  readonly promptTokens: number
  readonly completionTokens: number
}
