/**
 * Resolves references to secrets: `env:NAME` to a variable, `file:PATH` to a file.
 *
 * Works on unvalidated entries, so that a missing variable is reported together with all other problems.
 * White space around a secret is removed, because files end with a line break.
 */

import { isObject } from '../json/type-guards.ts'
import { Config } from '../../schemas/config.ts'
import { secretReference } from '../../schemas/config/secret.ts'
import { Secret } from '../core/secret.ts'
import { isHeaderSafe, firstInvalidChar } from '../text/header-value.ts'
import { errorCode } from './environment.ts'
import type { NamedFiles } from './named-files.ts'
import type { Path } from './path.ts'
import type { Report } from './report.ts'
import { valueSchema, isSecretSchema, propertySchemas } from '../validation/schema-parts.ts'

/** Paths of secrets; `*` is any name or index. */
const secretPaths = secretPathsIn(Config)

/** Secrets for environment variables, which are not sent in a header. */
const isVariable = ([section, , entry]: Path): boolean => section === 'mcp_servers' && entry === 'env'

/** Certificates and keys, which have several lines. */
const isPem = ([section, , entry]: Path): boolean => section === 'providers' && entry === 'tls'

export interface SecretSources {
  readonly environment: ReadonlyMap<string, string>
  readonly files: NamedFiles
}

/**
 * Reads every secret that the configuration references.
 *
 * A dangling reference is reported with its entry, unless the entry is disabled. Values that are not
 * references are left to the schema to refuse.
 *
 * @returns the secrets by reference; each is read once
 */
export function readSecrets (
  value: Record<string, unknown>, sources: SecretSources, report: Report
): ReadonlyMap<string, Secret> {
  const secrets = new Map<string, Secret>()
  for (const { path, reference } of secretPaths.flatMap(steps => references(value, steps))) {
    const secret = secrets.get(reference) ?? read(reference, sources)
    const problem = secret instanceof Secret ? whyUnusable(secret, reference, path) : secret
    if (secret instanceof Secret) secrets.set(reference, secret)
    if (problem !== undefined) report.add(path, problem)
  }
  return secrets
}

function secretPathsIn (schema: unknown): string[][] {
  const entry = valueSchema(schema)
  const steps = Object.entries(propertySchemas(schema) ?? (entry === undefined ? {} : { '*': entry }))
  const below = steps.flatMap(([step, inner]) => secretPathsIn(inner).map(rest => [step, ...rest]))
  return isSecretSchema(schema) ? [[], ...below] : below
}

const isReference = new RegExp(secretReference)

interface Reference { readonly path: Path, readonly reference: string }

function references (value: unknown, steps: readonly string[], path: Path = []): Reference[] {
  const [step, ...rest] = steps
  if (step === undefined) {
    return typeof value === 'string' && isReference.test(value) ? [{ path, reference: value }] : []
  }
  if (Array.isArray(value)) {
    return value.flatMap((item, index) => references(item, rest, [...path, index]))
  }
  if (!isObject(value) || value.enabled === false) return []
  const names = step === '*' ? Object.keys(value) : [step]
  return names.flatMap(name => references(value[name], rest, [...path, name]))
}

/** Returns the secret, or a description of the problem. */
function read (reference: string, { environment, files }: SecretSources): Secret | string {
  const target = targetOf(reference)
  if (reference.startsWith('env:')) {
    const value = environment.get(target)
    return value === undefined ? `${sourceOf(reference)} is not set` : new Secret(value, target)
  }
  try {
    const text = files.read(target).trim()
    return text === '' ? `${sourceOf(reference)} is empty` : new Secret(text, target)
  } catch (error) {
    return `${sourceOf(reference)} cannot be read (${errorCode(error)})`
  }
}

/** Returns why a secret cannot be used for an entry: names a position in it, never its text. */
function whyUnusable (secret: Secret, reference: string, path: Path): string | undefined {
  const text = secret.reveal()
  if (isPem(path)) {
    return text.includes('-----BEGIN ') ? undefined : `${sourceOf(reference)} contains no PEM data`
  }
  if (/[\r\n\0]/.test(text)) return `${sourceOf(reference)} contains more than one line`
  if (isVariable(path) || isHeaderSafe(text)) return undefined
  return `${sourceOf(reference)} contains a character not allowed in headers (position ${firstInvalidChar(text)})`
}

function targetOf (reference: string): string {
  return reference.slice(reference.indexOf(':') + 1)
}

function sourceOf (reference: string): string {
  const target = targetOf(reference)
  if (reference.startsWith('file:')) return `the file ${target}`
  // What does not look like a variable may be the secret itself, written after `env:` by mistake.
  return /^[A-Z0-9_]+$/.test(target) ? `the variable ${target}` : 'the variable named here'
}
