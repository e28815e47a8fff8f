/** Finds references to variables and secrets in the configuration of another gateway. */

import { litellmProviders } from '../models/litellm-providers.ts'
import { isContainer, nonEmptyText, type JsonObject } from '../json/type-guards.ts'
import type { ImportPlan } from './plan.ts'

/** How a configuration refers to variables. */
export interface ReferenceStyle {
  /** Its first group is the name of the variable. */
  readonly pattern: RegExp
  /** Texts that begin like this are references, and never secrets themselves. */
  readonly starts: readonly string[]
  /** Prefix of the variables for secrets in the file. */
  readonly variablePrefix: string
  /** Variables that the other gateway reads by itself. */
  readonly defaults: readonly string[]
}

const litellmReferences: ReferenceStyle = {
  pattern: /^os\.environ\/([A-Za-z_]\w*)$/,
  starts: ['os.environ/'],
  variablePrefix: 'LITELLM',
  defaults: [...litellmProviders.values()].flatMap(({ variable }) => variable ?? [])
}

/** Returns the variable that a value of a configuration refers to. */
export function variableIn (
  value: unknown,
  { pattern }: ReferenceStyle = litellmReferences
): string | undefined {
  return typeof value === 'string' ? pattern.exec(value)?.[1] : undefined
}

/** Collects secrets in cleartext, and names a variable for each. */
export class ImportedSecrets {
  readonly #plan: ImportPlan
  readonly #style: ReferenceStyle
  /** Names in use: a secret stored under one of them would be sent wherever that variable is. */
  readonly #reserved: ReadonlySet<string>
  readonly values = new Map<string, string>()

  /** @param file whose variables keep their names */
  constructor (file: JsonObject, plan: ImportPlan, style: ReferenceStyle = litellmReferences) {
    this.#plan = plan
    this.#style = style
    this.#reserved = new Set([...variablesIn(file, style), ...style.defaults])
  }

  /**
   * Returns the reference to a secret, `env:NAME`.
   *
   * @param name of the variable for a secret in the file
   * @param path of the entry, for the plan
   */
  refer (value: unknown, name: string, path: string): string | undefined {
    const text = nonEmptyText(value)
    if (text === undefined) return undefined
    const variable = variableIn(text, this.#style)
    if (variable !== undefined) {
      this.#plan.note(path, 'exact', `env:${variable}`)
      return `env:${variable}`
    }
    if (this.#style.starts.some(start => text.startsWith(start))) {
      this.#plan.note(path, 'unsupported', 'names no variable: letters, digits and `_`')
      return undefined
    }
    const wanted = `${this.#style.variablePrefix}_${name}`.toUpperCase().replaceAll(/[^A-Z0-9]+/g, '_')
    const own = this.#nameFor(wanted, text)
    this.values.set(own, text)
    this.#plan.note(path, 'exact', `env:${own}, in the file of secrets`)
    return `env:${own}`
  }

  /** Replaces every value of a map with a reference. */
  referAll (values: unknown, name: string, path: string): Record<string, string> {
    return Object.fromEntries(Object.entries(Object(values)).flatMap(([key, value]) => {
      const secret = this.refer(value, `${name}_${key}`, `${path}.${key}`)
      return secret === undefined ? [] : [[key, secret]]
    }))
  }

  #nameFor (wanted: string, text: string): string {
    for (let number = 1; ; number++) {
      const name = number === 1 ? wanted : `${wanted}_${number}`
      if (!this.#reserved.has(name) && (this.values.get(name) ?? text) === text) return name
    }
  }
}

/** Returns the variables that any entry refers to. */
function variablesIn (value: unknown, style: ReferenceStyle): string[] {
  const variable = variableIn(value, style)
  if (variable !== undefined) return [variable]
  return isContainer(value) ? Object.values(value).flatMap(entry => variablesIn(entry, style)) : []
}
