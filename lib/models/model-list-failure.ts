/**
 * Explains to the operator why the model list of a provider could not be read: usually the key or the base
 * URL is wrong.
 */

import type { ProviderSettings } from '../core/settings.ts'
import { describeError } from '../text/describe-error.ts'
import { redact } from '../text/redact.ts'
import { withoutTrailingSlashes } from '../text/without-trailing-slashes.ts'

export type ModelListFailureReason =
  /** The key, or a request without one, was refused. */
  | 'credential'
  /** The request was redirected. */
  | 'redirect'
  /** Any other status than 200. */
  | 'status'
  | 'not_json'
  /** JSON of another shape. */
  | 'no_list'
  /** More than any list has. */
  | 'too_many_values'

export interface ModelListFailureFacts {
  /** The path that was appended to the base URL. */
  readonly path: string
  readonly status: number
  /** Where a redirect leads (`redirectTarget`). */
  readonly target?: string | undefined
  /** The media type of a response that is not JSON, if it has one. */
  readonly mediaType?: string | undefined
}

/** Describes a list that could not be read. Of the response, it has at most the media type and the target. */
export class ModelListFailure extends Error {
  readonly reason: ModelListFailureReason
  readonly facts: ModelListFailureFacts

  constructor (reason: ModelListFailureReason, facts: ModelListFailureFacts) {
    super(`the model list could not be read: ${reason}`)
    this.name = 'ModelListFailure'
    this.reason = reason
    this.facts = facts
  }
}

type Entry = Pick<ProviderSettings, 'id' | 'baseUrl' | 'apiKey' | 'apiKeys'>

/** Explains what is wrong with the list of a provider, and which entry to check. Contains no secret. */
export function describeListFailure (error: unknown, provider: Entry): string {
  if (!(error instanceof ModelListFailure)) return describeError(error)
  const { reason, facts: { path, status, target, mediaType } } = error
  const request = `GET ${addressOf(provider, path)}`
  const hint = hintOf(provider, path)
  switch (reason) {
    case 'credential':
      return refusedKey(provider, status)
    case 'redirect':
      return redact(`${request} was redirected (${status}) to ${target}: change \`base_url\` accordingly.`)
    case 'status':
      return `${request} failed with status ${status}${status === 404 ? `: ${hint}` : '.'}`
    case 'not_json':
      return `The response of ${request} is not JSON${mediaType === undefined ? '' : ` but ${mediaType}`}: ${hint}`
    case 'no_list':
      return `The response of ${request} is not a list of models: ${hint}`
    case 'too_many_values':
      return `The response of ${request} has more values than a list of models: ${hint}`
  }
}

function refusedKey ({ id, apiKey, apiKeys }: Entry, status: number): string {
  const key = apiKeys?.[0]?.key ?? apiKey // the path with which lists are requested
  const entry = `providers.${id}.api_key`
  return key === undefined
    ? `The provider refused the request without a key (${status}): set \`${entry}\`.`
    : `The provider refused the key in \`${key.source ?? entry}\` (${status}).`
}

/** Returns the address without user and query. */
function addressOf ({ baseUrl }: Entry, path: string): string {
  const { origin, pathname } = new URL(baseUrl)
  return redact(origin + withoutTrailingSlashes(pathname) + pathOnly(path))
}

/** Returns a likely error in the base URL. Kinds whose paths have no version expect it there. */
function hintOf ({ baseUrl }: Entry, path: string): string {
  const endsInVersion = /\/v\d[^/]*$/.test(withoutTrailingSlashes(new URL(baseUrl).pathname))
  if (!/^\/v\d/.test(path)) return endsInVersion ? 'is `base_url` right?' : 'does `base_url` lack `/v1`?'
  return endsInVersion ? '`base_url` must not end in `/v1` for this kind.' : 'is `base_url` right?'
}

function pathOnly (path: string): string {
  return path.split('?', 1)[0] ?? path
}
