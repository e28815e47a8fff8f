/**
 * Names a caller's tools at the provider. Providers know functions only: a tool of a namespace becomes
 * `namespace__name`, and a tool with free-form input a function with one argument, `input`.
 */

import { createHash } from 'node:crypto'

/** A tool as the caller declared it. */
export interface DeclaredTool {
  readonly name: string
  readonly namespace?: string
  readonly kind: 'function' | 'custom'
}

/** The longest name of a function that every provider takes, in characters. */
const maxLength = 64

export class SentNames {
  /** By the name at the provider. */
  readonly #declared = new Map<string, DeclaredTool>()
  /** By namespace and name of the caller. */
  readonly #sent = new Map<string, string>()

  /** Returns the name at the provider of a tool, which is the same each time it is declared. */
  add (tool: DeclaredTool): string {
    const key = keyOf(tool.name, tool.namespace)
    const sentName = this.#sent.get(key)
    if (sentName !== undefined) return sentName
    const name = this.#free(
      tool.namespace === undefined ? tool.name : flattened(tool.namespace, tool.name),
      key
    )
    this.#declared.set(name, tool)
    this.#sent.set(key, name)
    return name
  }

  /** Returns the tool of a name at the provider; a tool that was not declared is a function of that name. */
  declared (sentName: string): DeclaredTool {
    return this.#declared.get(sentName) ?? { name: sentName, kind: 'function' }
  }

  /** Returns the name at the provider of a tool that a conversation or a choice names. */
  sent (name: string, namespace: string | null | undefined): string {
    return this.#sent.get(keyOf(name, namespace ?? undefined)) ??
      (typeof namespace === 'string' ? flattened(namespace, name) : name)
  }

  /** Returns the names at the provider of the tools that were declared. */
  all (): ReadonlySet<string> {
    return new Set(this.#declared.keys())
  }

  #free (name: string, key: string): string {
    return this.#declared.has(name) ? `${name.slice(0, maxLength - 9)}_${digest(key)}` : name
  }
}

function keyOf (name: string, namespace: string | undefined): string {
  return JSON.stringify([namespace, name])
}

function flattened (namespace: string, name: string): string {
  const full = `${namespace}__${name}`
  return full.length <= maxLength ? full : `${full.slice(0, maxLength - 9)}_${digest(full)}`
}

function digest (text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 8)
}
