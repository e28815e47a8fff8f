/**
 * Names of tool arguments. The provider rejects all tools of a request if one argument name is too long or
 * has a character outside this set, such as `$filter`, `filter[id]` or `user name`. Such names are replaced,
 * and restored in the calls.
 *
 * @see https://github.com/anthropics/claude-code/issues/79418
 */

import { createHash } from 'node:crypto'
import { fitFunction } from '../../chat/function-schema.ts'
import { isList, isObject, type JsonObject } from '../../json/type-guards.ts'
import { objectOrNothing } from '../json-api.ts'
import type { ChatInput } from '../../chat/input.ts'

const legal = /^[a-zA-Z0-9_.-]{1,64}$/
const digestLength = 8

/** Returns a tool's schema with legal names; the same object if nothing changes. */
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

/** Returns the original names of a tool's renamed arguments, by new name; `undefined` for most tools. */
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

/** Restores the names in the arguments of a call; leaves anything but an object unchanged. */
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

/** Appends a digest of the name, so that two names never collide. */
function legalName (name: string): string {
  if (isLegal(name)) return name
  const digest = createHash('sha256').update(name).digest('hex').slice(0, digestLength)
  return `${name.replaceAll(/[^a-zA-Z0-9_.-]/g, '_').slice(0, 64 - digestLength - 1)}_${digest}`
}
