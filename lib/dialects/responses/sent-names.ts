/**
 * Maps tool names to provider names. Providers only know functions: a namespaced tool becomes
 * `namespace__name`, and a custom tool a function with one argument, `input`.
 */

import { createHash } from 'node:crypto'

/** A tool as the caller declared it. */
export interface DeclaredTool {
  readonly name: string
  readonly namespace?: string
  readonly kind: 'function' | 'custom'
}

/** Longest function name that every provider accepts, in characters. */
const maxLength = 64

export class SentNames {
  /** By provider name. */
  readonly #declared = new Map<string, DeclaredTool>()
  /** By the caller's namespace and name. */
  readonly #sent = new Map<string, string>()

  /** Returns the provider name of a tool; repeated declarations give the same name. */
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

  /** Returns the tool with a provider name; an undeclared one is a function with that name. */
  declared (sentName: string): DeclaredTool {
    return this.#declared.get(sentName) ?? { name: sentName, kind: 'function' }
  }

  /** Returns the provider name of a tool in a conversation or choice. */
  sent (name: string, namespace: string | null | undefined): string {
    return this.#sent.get(keyOf(name, namespace ?? undefined)) ??
      (typeof namespace === 'string' ? flattened(namespace, name) : name)
  }

  /** Returns the provider names of all declared tools. */
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
