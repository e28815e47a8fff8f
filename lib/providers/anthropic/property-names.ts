/**
 * Names of the arguments of tools. The provider refuses all tools of a request for one name with another
 * character than these, or a longer one, and servers have such: `$filter`, `filter[id]`, `user name`. They
 * are replaced, and put back into the calls.
 *
 * @see https://github.com/anthropics/claude-code/issues/79418
 */

import { createHash } from 'node:crypto'
import { fitFunction } from '../../chat/function-schema.ts'
import { isList, isObject, type JsonObject } from '../../json/guards.ts'
import { objectOrNothing } from '../json-api.ts'
import type { ChatInput } from '../../chat/input.ts'

const legal = /^[a-zA-Z0-9_.-]{1,64}$/
const digestLength = 8

/** Returns the schema of a tool with names that the provider takes; the same one where all are. */
export function withLegalNames (schema: Readonly<JsonObject>): Readonly<JsonObject> {
  const { properties, required } = schema
  if (!isObject(properties) || Object.keys(properties).every(isLegal)) return schema
  return {
    ...schema,
    properties: Object.fromEntries(
      Object.entries(properties).map(([name, property]) => [legalName(name), property])
    ),
    ...isList(required) && {
      required: required.map(name => (typeof name === 'string' ? legalName(name) : name))
    }
  }
}

/**
 * Returns the names that were replaced in a tool of a request, by what replaced them; `undefined` for most
 * tools.
 */
export function replacedNames (
  { tools = [], functions = [] }: Pick<ChatInput, 'tools' | 'functions'>,
  tool: string
): ReadonlyMap<string, string> | undefined {
  const definition = [
    ...tools.flatMap(tool => (tool.type === 'custom' ? [] : [tool.function])),
    ...functions
  ].find(({ name }) => name === tool)
  const properties = definition && fitFunction(definition).parameters?.['properties']
  const names = isObject(properties) ? Object.keys(properties).filter(name => !isLegal(name)) : []
  return names.length === 0 ? undefined : new Map(names.map(name => [legalName(name), name]))
}

/** Returns the arguments of a call with the names of its tool; as they came where they are no object. */
export function withOwnNames (json: string, names: ReadonlyMap<string, string>): string {
  const given = objectOrNothing(json)
  return given === undefined
    ? json
    : JSON.stringify(
        Object.fromEntries(Object.entries(given).map(([name, value]) => [names.get(name) ?? name, value]))
      )
}

function isLegal (name: string): boolean {
  return legal.test(name)
}

/** Two names never become one: each that is replaced ends in a digest of itself. */
function legalName (name: string): string {
  if (isLegal(name)) return name
  const digest = createHash('sha256').update(name).digest('hex').slice(0, digestLength)
  return `${name.replaceAll(/[^a-zA-Z0-9_.-]/g, '_').slice(0, 64 - digestLength - 1)}_${digest}`
}
