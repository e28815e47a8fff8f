/** Redacts texts: replaces keys, secrets, and whatever the operator names. */

import { yieldFairly } from '../async/yield-fairly.ts'
import { LinearPattern } from '../text/linear-pattern.ts'
import { keyPatterns, mark, withoutValues } from '../text/redact.ts'

/** Members that hold credentials, by their names in requests. */
const credentialFields = [
  'api_key',
  'apikey',
  'api-key',
  'x-api-key',
  'x-goog-api-key',
  'x-litellm-api-key',
  'authorization',
  'authorization_token',
  'proxy-authorization',
  'bearer',
  'access_token',
  'refresh_token',
  'auth_token',
  'client_secret',
  'secret',
  'secret_key',
  'private_key',
  'password',
  'credential',
  'credentials',
  'headers',
  'cookie',
  'set-cookie'
] as const

/** Lists of single tokens of an answer: patterns that match the text cannot match them. */
const tokenFields = ['logprobs', 'top_logprobs'] as const

/** A longer text is searched in steps. */
const longText = 32 * 1024

export interface RedactionRules {
  /** Names of members, in any case. */
  readonly fields: readonly string[]
  readonly patterns: readonly string[]
}

export class Redaction {
  readonly #fields: ReadonlySet<string>
  readonly #pattern: LinearPattern | undefined

  /** @throws PatternError */
  constructor ({ fields, patterns }: RedactionRules) {
    this.#fields = new Set([...credentialFields, ...tokenFields, ...fields.map(name => name.toLowerCase())])
    this.#pattern = patterns.length === 0 ? undefined : new LinearPattern(patterns)
  }

  /** True if the operator names patterns, which may match numbers. */
  get hasPatterns (): boolean {
    return this.#pattern !== undefined
  }

  /** Returns true for a member whose value is replaced. */
  hidesField (name: string): boolean {
    return this.#fields.has(name.toLowerCase())
  }

  /**
   * Returns a text with marks in place of redacted values.
   *
   * @param secrets values to be redacted
   */
  async redact (text: string, secrets: readonly string[]): Promise<string> {
    let open = withoutValues(text, secrets)
    for (const [pattern, replacement] of keyPatterns) {
      open = open.replace(pattern, replacement)
      if (text.length > longText) await yieldFairly()
    }
    return this.#pattern === undefined ? open : await replaced(open, this.#pattern)
  }
}

async function replaced (text: string, pattern: LinearPattern): Promise<string> {
  const search = pattern.search(text)
  let step = search.next()
  for (; step.done !== true; step = search.next()) await yieldFairly()
  let left = ''
  let at = 0
  for (const { start, end } of step.value) {
    left += text.slice(at, start) + mark
    at = end
  }
  return left + text.slice(at)
}
