/**
 * Converts the fields of a multipart form to the values that a schema describes. A form has only texts and
 * files, so numbers, booleans and lists are read from texts.
 */

import { isObject, objectOf } from '../json/type-guards.ts'
import { parseBounded } from '../json/parse-bounded.ts'
import type { TSchema } from 'typebox'
import type { UploadedFile, UploadForm } from '../core/upload.ts'
import type { ValidationDetail } from '../core/errors.ts'
import { FormAttribution, type FileMark } from '../../schemas/form.ts'
import { shorten } from '../text/shorten.ts'
import { branchesOf, type JsonSchema } from './json-schema.ts'

/** A form request after `validateForm`: files in place of their marks, no nulls. */
export type FormRequest<T> = { [K in keyof T]: WithFiles<Exclude<T[K], null>> }
type WithFiles<T> =
  T extends FileMark ? UploadedFile : T extends readonly FileMark[] ? readonly UploadedFile[] : T

export interface ParsedFormFields {
  /** The values to check against the schema, with names in place of files. */
  readonly values: Readonly<Record<string, unknown>>
  /** The same with the files themselves. */
  readonly request: Readonly<Record<string, unknown>>
  /** Texts that cannot be read as the schema requires. Their fields are missing from the other two. */
  readonly faults: readonly ValidationDetail[]
}

/** Returns true for the body of a call that is a multipart form. */
export function isForm (body: unknown): body is UploadForm {
  return isObject(body) && isObject(body['fields']) && isObject(body['files'])
}

/** Reads the fields that the schema names. The check decides whether their values are in range. */
export function parseFormFields (schema: TSchema, form: UploadForm): ParsedFormFields {
  const { properties = {} }: JsonSchema = schema
  const values: Record<string, unknown> = {}
  const request: Record<string, unknown> = {}
  const faults: ValidationDetail[] = []
  for (const [name, property] of Object.entries(properties)) {
    const branches = branchesOf(property)
    if (branches.some(isFile)) {
      const files = entries(form.files, name)
      if (files.length > 0) {
        values[name] = takesList(branches) ? files.map(file => file.name) : files.at(-1)?.name
        request[name] = takesList(branches) ? files : files.at(-1)
      } else if (entries(form.fields, name).length > 0) {
        faults.push({ loc: ['body', name], msg: 'Value error, expected a file', type: 'value_error' })
      }
      continue
    }
    const texts = entries(form.fields, name)
    const object = branches.find(({ type }) => type === 'object')
    const members = object === undefined || texts.length > 0 ? [] : membersOf(form.fields, name)
    if (texts.length === 0 && members.length === 0) continue
    // commas separate items only in a single text: a name or a phrase may have commas too
    const isOnlyText = texts.length === 1 && Object.hasOwn(form.fields, name)
    try {
      const value = takesList(branches)
        ? readList(branches, isOnlyText ? texts.flatMap(splitAtCommas) : texts)
        : texts.length > 0 ? readText(branches, texts.at(-1) ?? '') : readMembers(object, members)
      if (value !== undefined) values[name] = request[name] = value
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error
      faults.push({ ...error.detail, loc: ['body', name, ...error.detail.loc] })
    }
  }
  return { values, request, faults }
}

/** Returns the fields that attribute a call, as a JSON body has them. */
export function attributionFields (form: UploadForm): Readonly<Record<string, unknown>> {
  const { values } = parseFormFields(FormAttribution, form)
  const tags = entries(form.fields, 'metadata[tags]')
  return tags.length === 0 ? values : { ...values, metadata: { ...objectOf(values['metadata']), tags } }
}

/** Lists the values sent under `name`, `name[]`, and `name[0]` and so on, in this order. */
function entries<T> (
  from: Readonly<Record<string, T | readonly T[]>>, name: string
): readonly T[] {
  const indexed = Object.keys(from)
    .filter(key => key.startsWith(`${name}[`) && /^\[\d+\]$/.test(key.slice(name.length)))
    .toSorted((a, b) => indexOf(a) - indexOf(b))
  const keys = [name, `${name}[]`, ...indexed]
  return keys.flatMap(key => (Object.hasOwn(from, key) ? from[key] : undefined) ?? [])
}

function indexOf (key: string): number {
  return Number(key.slice(key.lastIndexOf('[') + 1, -1))
}

/** Keys and texts of an object whose members were sent as `name[key]`, like official clients do. */
function membersOf (fields: UploadForm['fields'], name: string): Array<readonly [key: string, text: string]> {
  return Object.entries(fields).flatMap(([field, value]) => {
    const key = field.startsWith(`${name}[`) && field.endsWith(']') ? field.slice(name.length + 1, -1) : ''
    return key === '' || key.includes(']') ? [] : [[key, [value].flat().at(-1) ?? ''] as const]
  })
}

function readMembers (
  { properties = {} }: JsonSchema = {},
  members: ReadonlyArray<readonly [string, string]>
): object {
  return Object.fromEntries(
    members.map(([key, text]) => {
      const schema = Object.hasOwn(properties, key) ? properties[key] : undefined
      return [key, readText(branchesOf(schema ?? {}), text, [key])]
    })
  )
}

function isFile (schema: JsonSchema): boolean {
  return schema.contentMediaType !== undefined || schema.items?.contentMediaType !== undefined
}

function takesList (branches: readonly JsonSchema[]): boolean {
  return branches.some(branch => branch.type === 'array')
}

function readList (branches: readonly JsonSchema[], texts: readonly string[]): unknown[] {
  const items = branches.find(branch => branch.type === 'array')?.items ?? {}
  const parts = texts.map(text => text.trim()).filter(text => text !== '')
  return parts.map((text, index) => readText(branchesOf(items), text, [index]))
}

/** Maximum items in one text: millions would take far more memory than the text itself. */
const maxSplitItems = 1000

/** Lists what commas separate in the only text of a list. The comma of a data URL separates nothing. */
function splitAtCommas (text: string): string[] {
  if (/^\s*data:/i.test(text)) return [text]
  const parts = text.split(',', maxSplitItems + 1)
  if (parts.length <= maxSplitItems) return parts
  throw new Unreadable({
    loc: [], msg: `Value error, commas may separate up to ${maxSplitItems} items`, type: 'value_error'
  })
}

/** A text that cannot be read as the schema requires. */
class Unreadable extends Error {
  readonly detail: ValidationDetail

  constructor (detail: ValidationDetail) {
    super(detail.msg)
    this.detail = detail
  }
}

/**
 * Reads the value of a text by the first branch that can read it, with text itself last. An empty text where
 * no text is allowed is an empty field of the form: absent.
 */
function readText (
  branches: readonly JsonSchema[], text: string, loc: Array<string | number> = []
): unknown {
  const wanted = branches.filter(branch => branch.type !== 'null')
  const asText = wanted.some(branch => branch.type === 'string')
  if (text === '' && !asText) return undefined
  for (const { type } of wanted) {
    const value = type === undefined ? undefined : readers[type]?.read(text.trim())
    if (value !== undefined) return value
  }
  if (asText) return text
  const fault = wanted.map(({ type = '' }) => readers[type]).find(reader => reader !== undefined)
  if (fault === undefined) return text
  throw new Unreadable({ loc, msg: fault.msg, type: fault.type, input: shorten(text) })
}

interface Reader {
  readonly type: string
  readonly msg: string
  /** Returns undefined for a text that is not a boolean. */
  readonly read: (text: string) => unknown
}

const readers: Readonly<Record<string, Reader>> = {
  integer: {
    type: 'int_parsing',
    msg: 'Input should be a valid integer, unable to parse string as an integer',
    read: text => /^[+-]?\d+$/.test(text) ? Number(text) : undefined
  },
  number: {
    type: 'float_parsing',
    msg: 'Input should be a valid number, unable to parse string as a number',
    read: text => /^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i.test(text) ? Number(text) : undefined
  },
  boolean: {
    type: 'bool_parsing',
    msg: 'Input should be a valid boolean, unable to interpret input',
    read: text => booleans[text.toLowerCase()]
  },
  object: {
    type: 'dict_type',
    msg: 'Input should be a valid dictionary',
    read: text => text.startsWith('{') ? parsed(text) : undefined
  }
}

/** The words that pydantic accepts as booleans. */
const booleans: Readonly<Record<string, boolean>> = Object.assign(Object.create(null), {
  true: true, t: true, yes: true, y: true, on: true, 1: true,
  false: false, f: false, no: false, n: false, off: false, 0: false
})

function parsed (text: string): unknown {
  try {
    return parseBounded(text)
  } catch {
    return undefined
  }
}
