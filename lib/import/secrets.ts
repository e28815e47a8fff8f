import { litellmProviders } from '../models/litellm-providers.ts'
import { isContainer, type JsonObject } from '../json/guards.ts'
import { textOf } from './values.ts'
import type { ImportPlan } from './plan.ts'

/** A variable, as LiteLLM refers to it. */
const reference = /^os\.environ\/([A-Za-z_]\w*)$/

/** Returns the variable that a value of LiteLLM's configuration refers to. */
export function variableIn (value: unknown): string | undefined {
  return typeof value === 'string' ? reference.exec(value)?.[1] : undefined
}

/** Collects secrets that stand in a file in clear, and names a variable for each. */
export class ImportedSecrets {
  readonly #plan: ImportPlan
  /** Names that are in use: a secret stored under one of them would be sent wherever that variable is. */
  readonly #reserved: ReadonlySet<string>
  readonly values = new Map<string, string>()

  /** @param file whose variables keep their names */
  constructor (file: JsonObject, plan: ImportPlan) {
    this.#plan = plan
    const defaults = [...litellmProviders.values()].flatMap(({ variable }) => variable ?? [])
    this.#reserved = new Set([...variablesIn(file), ...defaults])
  }

  /**
   * Returns the reference to a secret, `env:NAME`.
   *
   * @param name of the variable for one that stands in the file
   * @param path of the entry, for the plan
   */
  refer (value: unknown, name: string, path: string): string | undefined {
    const text = textOf(value)
    if (text === undefined) return undefined
    const variable = variableIn(text)
    if (variable !== undefined) {
      this.#plan.note(path, 'exact', `env:${variable}`)
      return `env:${variable}`
    }
    if (text.startsWith('os.environ/')) {
      this.#plan.note(path, 'unsupported', 'names no variable: letters, digits and `_`')
      return undefined
    }
    const own = this.#nameFor(`LITELLM_${name.toUpperCase().replaceAll(/[^A-Z0-9]+/g, '_')}`, text)
    this.values.set(own, text)
    this.#plan.note(path, 'exact', `env:${own}, in the file of secrets`)
    return `env:${own}`
  }

  /** Refers to every value of a map. */
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
function variablesIn (value: unknown): string[] {
  const variable = variableIn(value)
  if (variable !== undefined) return [variable]
  return isContainer(value) ? Object.values(value).flatMap(variablesIn) : []
}
