/** Records on whose behalf a call is made, as its caller states: tags, end user, session and metadata. */

import { noteIgnored, cutName, type RequestFacts, type CallerFacts } from '../core/record.ts'
import { unknownCaller, type Attribution } from '../core/call-attribution.ts'
import { isObject, type JsonObject } from '../json/type-guards.ts'
import { freeText, memberName, PlaceTable, text, type ReplaceText } from '../json/place-table.ts'
import { partsOf } from '../json/print-in-slices.ts'

/** A longer name is not a session. */
const maxSessionLength = 255

/** Finds the session within the JSON or the text that Claude Code sends as the user's name. */
const inUser = /session_(?:id"\s*:\s*")?([\w-]{8,64})/
/** The session together with its separator. */
const partOfUser = /(?:_session_[\w-]{8,64}|,? ?"session_id": ?"[\w-]{8,64}")/

/** Maximum tags per call. */
export const maxTags = 20
const maxTagLength = 64
const maxPairs = 16
const maxPairName = 64
const maxPairText = 512

/** The parts of a call that carry attribution. The record may already have tags, which come first. */
interface AttributedCall {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly record: {
    readonly caller: Attribution &
      Partial<Pick<CallerFacts, 'digestEndUser' | 'acceptsAnyMetadata' | 'unsentMetadata'>>
    readonly request: Partial<Pick<RequestFacts, 'ignoredFields'>>
  }
}

/** Fields that may name the end user, and are redacted in stored bodies; `user_id` is in `metadata`. */
export const endUserFields = ['safety_identifier', 'user', 'user_id'] as const

/**
 * Records the attribution of a call, and removes the list `metadata.tags` from its body: programs for LiteLLM
 * send tags there, and providers refuse it, since their metadata are pairs of texts. Where
 * `acceptsAnyMetadata` of the record is true, all values of `metadata` that are not strings are removed.
 *
 * A record gets at most 20 tags, cut at 64 characters, and 16 pairs of metadata. Where end users are digests,
 * the digest is made of the name as received, before any guard changes it.
 *
 * @returns the same body if nothing is removed
 */
export function noteAttribution (
  body: unknown,
  { headers, record: { caller, request } }: AttributedCall
): unknown {
  const fields: JsonObject = isObject(body) ? body : {}
  const metadata = isObject(fields['metadata']) ? fields['metadata'] : undefined
  const tags = metadata?.['tags']
  const userId = metadata?.['user_id']
  const claudeUser = typeof userId === 'string' ? userId : undefined
  // Session headers of any program, Claude Code, Codex and OpenCode.
  const session =
    headers['x-session-id'] ||
    headers['x-claude-code-session-id'] ||
    headers['session-id'] ||
    headers['session_id'] ||
    headers['x-session-affinity']
  if ((session ?? claudeUser) !== undefined) caller.session = sessionOf(session, claudeUser)
  const endUser =
    headers['x-litellm-end-user-id'] || fields['safety_identifier'] || fields['user'] || claudeUser
  if (typeof endUser === 'string') caller.endUser = endUserName(endUser, caller.digestEndUser)
  const sources = [caller.tags, headers['x-headgate-tags'], headers['x-litellm-tags'], tags, fields['tags']]
  if ((sources[0] ?? sources[1] ?? sources[2] ?? tags ?? fields['tags']) !== undefined) {
    caller.tags = tagsOf(sources)
  }
  if (metadata === undefined) return body
  const { sent, unsent } = splitMetadata(metadata, caller.acceptsAnyMetadata)
  if (unsent !== undefined) {
    caller.unsentMetadata = unsent
    for (const name of Object.keys(unsent)) noteIgnored(request, `metadata.${name}`)
  }
  caller.metadata = pairsOf(sent, unsent)
  if (sent === metadata) return body
  const { metadata: _, ...others } = fields
  return Object.keys(sent).length === 0 ? others : { ...others, metadata: sent }
}

/**
 * Updates the record from a request in which guards have replaced something. Parts that the request did not
 * name stay: they come from a header, or from a field that the endpoint lacks.
 */
export function renewAttribution (
  before: object,
  request: object,
  { headers, record: { caller } }: AttributedCall
): void {
  const byHeaders = namesIn(undefined, headers)
  const [was, is] = [namesIn(before), namesIn(request)]
  // Keep a digest: it was computed from the name as received.
  if (byHeaders.endUser === undefined && caller.endUser === was.endUser) caller.endUser = is.endUser
  if (byHeaders.session === undefined && caller.session === was.session) caller.session = is.session
  if (was.metadata !== undefined) caller.metadata = pairsOf(is.metadata ?? {}, caller.unsentMetadata)
}

/**
 * Replaces texts of the record that are not in the request: from headers, tags, values removed from
 * `metadata`, and fields that the endpoint lacks.
 *
 * @param request given if it may lack fields of the body. Default: it has all of them
 * @returns true if something was replaced: the received body may contain it
 */
export function replaceNames (
  { headers, record: { caller } }: AttributedCall,
  replaceText: ReplaceText,
  request?: unknown
): boolean {
  const byHeaders = namesIn(undefined, headers)
  const { tags, endUser, session, metadata, digestEndUser, unsentMetadata } = caller
  const inRequest = request === undefined ? { endUser, session, metadata } : namesIn(request)
  let isReplaced = false
  const replace: ReplaceText = (given, place) => {
    const other = replaceText(given, place)
    isReplaced ||= other !== given
    return other
  }
  if (tags !== undefined) caller.tags = tags.map(tag => replace(tag, text))
  if (digestEndUser !== undefined) {
    if (byHeaders.endUser !== undefined) replace(byHeaders.endUser, text)
  } else if (endUser !== undefined && (byHeaders.endUser !== undefined || endUser !== inRequest.endUser)) {
    caller.endUser = replace(endUser, text)
  }
  if (session !== undefined && (byHeaders.session !== undefined || session !== inRequest.session)) {
    caller.session = replace(session, text)
  }
  if (metadata !== undefined && (inRequest.metadata === undefined || unsentMetadata !== undefined)) {
    const sent = withoutNames(metadata, pairsOf({}, unsentMetadata))
    const texts = inRequest.metadata === undefined ? replacedPairs(sent, replace) : sent
    caller.unsentMetadata = unsentMetadata && anyTexts.replace(unsentMetadata, replace)
    caller.metadata = pairsOf(texts, caller.unsentMetadata)
  }
  return isReplaced
}

/** A value whose strings are all texts, and whose numbers are inspected as well. */
const anyTexts = new PlaceTable({ '**': freeText })

/** Returns the attribution in a request and its headers; neither is changed. */
function namesIn (request: unknown, headers: AttributedCall['headers'] = {}): Attribution {
  const names: Attribution = { ...unknownCaller }
  noteAttribution(request, { headers, record: { caller: names, request: {} } })
  return names
}

function replacedPairs (
  pairs: Readonly<Record<string, string>>,
  replace: ReplaceText
): Record<string, string> {
  return Object.fromEntries(Object.entries(pairs).map(([name, value]) => {
    replace(name, memberName)
    return [name, replace(value, text)]
  }))
}

function withoutNames (
  pairs: Readonly<Record<string, string>>,
  others: Readonly<Record<string, string>> = {}
): Record<string, string> {
  return Object.fromEntries(Object.entries(pairs).filter(([name]) => !Object.hasOwn(others, name)))
}

function endUserName (text: string, digest = (name: string) => name): string | undefined {
  const name = keptName(text)
  return name === '' ? undefined : digest(name)
}

/** Returns the stored form of an end user's name from a caller; empty if nothing is left of it. */
export function keptName (text: string): string {
  return plainText(cutName(withoutSession(text)))
}

/**
 * Returns the session that a caller names.
 *
 * @param userId in which Claude Code may name it as well
 */
function sessionOf (name: unknown, userId = ''): string | undefined {
  if (typeof name === 'string' && name !== '') {
    const session = plainText(name)
    return session === '' || session.length > maxSessionLength ? undefined : session
  }
  return inUser.exec(userId)?.[1]
}

/**
 * Returns the user part of a name in which Claude Code names a session: all sessions of a person belong to
 * one user.
 */
function withoutSession (userId: string): string {
  return userId.replace(partOfUser, '')
}

/**
 * Lists the first tags without duplicates.
 *
 * @param sources lists, or comma-separated texts
 */
function tagsOf (sources: readonly unknown[]): readonly string[] | undefined {
  const found = new Set<string>()
  const texts = sources.flat().filter(source => typeof source === 'string')
  for (const part of texts.flatMap(text => text.split(',', maxTags))) {
    const tag = plainText(part.trim().slice(0, maxTagLength))
    if (tag !== '') found.add(tag)
    if (found.size === maxTags) break
  }
  return found.size === 0 ? undefined : [...found]
}

/**
 * Splits `metadata` into the part that stays in the request and, if any value is accepted, values that are
 * not strings. A list of tags is in neither part.
 *
 * @returns as `sent`, the same object if all of it stays; no `unsent` if there is none
 */
function splitMetadata (
  metadata: JsonObject,
  acceptsAny = false
): { readonly sent: JsonObject, readonly unsent?: JsonObject } {
  const entries = Object.entries(metadata)
  const others = entries.filter(([name, value]) => name !== 'tags' || !Array.isArray(value))
  const sent = acceptsAny ? others.filter(([, value]) => typeof value === 'string') : others
  if (sent.length === entries.length) return { sent: metadata }
  return {
    sent: Object.fromEntries(sent),
    ...sent.length < others.length && {
      unsent: Object.fromEntries(others.filter(([, value]) => typeof value !== 'string'))
    }
  }
}

/**
 * Keeps the first pairs of texts, except those that are recorded elsewhere.
 *
 * @param unsent values that follow them as JSON
 */
function pairsOf (
  { tags: _, user_id: __, ...metadata }: JsonObject,
  unsent: JsonObject = {}
): Record<string, string> | undefined {
  const texts = Object.entries(metadata).filter(([, value]) => typeof value === 'string')
  const pairs = [...texts, ...Object.entries(unsent)].slice(0, maxPairs).map(([name, value]) => [
    plainText(name.slice(0, maxPairName)),
    plainText((typeof value === 'string' ? value : startOfJson(value)).slice(0, maxPairText))
  ])
  return pairs.length === 0 ? undefined : Object.fromEntries(pairs)
}

/** Prints as much of a value as a pair may hold, without printing all of a large one. */
function startOfJson (value: unknown): string {
  let json = ''
  for (const part of partsOf(value)) {
    json += part
    if (json.length >= maxPairText) break
  }
  return json
}

/** Removes what a store may refuse: control characters, and lone surrogates. */
function plainText (text: string): string {
  return text.toWellFormed().replace(/\p{Cc}/gu, '')
}
