/** How guards replace the texts of requests, by a table of places or by the fields of a form. */

import { audioExtension } from '../audio/audio-format.ts'
import { renewAttribution } from '../validation/attribution.ts'
import { copyCall, updateCall, type RoutedCall } from '../core/call.ts'
import { property } from '../json/type-guards.ts'
import { text, type PlaceTable, type ReplaceText } from '../json/place-table.ts'
import type { UploadedFile, UploadForm } from '../core/upload.ts'
import type { RequestTexts } from './inspect-request.ts'

/** Returns how to replace the texts of a request in the caller's own dialect, by a table of their places. */
export function textsAt<R extends object> (places: PlaceTable): RequestTexts<R> {
  return {
    replaceTexts: (call: RoutedCall<R>, replace) => {
      const request = places.replace(call.request, replace)
      if (request === call.request) return call
      renewAttribution(call.request, request, call)
      // a project keeps the text with the replacements
      call.record.bodies?.takeRequest([Buffer.from(JSON.stringify(request))])
      return updateCall(call, { request })
    }
  }
}

/** Returns how to replace the texts in a form: in some of its fields, and in the names of its files. */
export function formTextsAt<R extends object> (fields: ReadonlyArray<keyof R & string>): RequestTexts<R> {
  const names: ReadonlySet<string> = new Set(fields)
  return {
    lacksFields: true,
    replaceTexts: (call: RoutedCall<R>, replace) => {
      const entries = Object.entries(call.request)
      const others = entries.map(([name, value]) => replacedField(value, names.has(name), replace))
      if (others.every((other, at) => other === entries[at]?.[1])) return call
      const request = Object.fromEntries(entries.map(([name], at) => [name, others[at]]))
      renewAttribution(call.request, request, call)
      // a project keeps the text with the replacements
      call.record.bodies?.takeForm(formOf(request))
      return copyCall(call, { request: request as R }) // the same fields
    }
  }
}

function formOf (request: Readonly<Record<string, unknown>>): UploadForm {
  const fields: Record<string, string | string[]> = {}
  const files: Record<string, UploadedFile[]> = {}
  for (const [name, value] of Object.entries(request)) {
    const list = [value].flat().filter(item => item !== undefined)
    if (list.length === 0) continue
    if (list.every(isFile)) files[name] = list
    else fields[name] = Array.isArray(value) ? list.map(fieldOf) : fieldOf(value)
  }
  return { fields, files }
}

function fieldOf (value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function replacedField (value: unknown, isText: boolean, replace: ReplaceText): unknown {
  if (Array.isArray(value)) {
    const others = value.map((item: unknown) => replacedField(item, isText, replace))
    return others.every((other, at) => other === value[at]) ? value : others
  }
  if (typeof value === 'string') return isText ? replace(value, text) : value
  if (!isFile(value)) return value
  const name = replace(value.name, text)
  return name === value.name ? value : { ...value, name: withFormat(name, value.name) }
}

/** Providers recognise a recording by the extension of its name, which may belong to what was replaced. */
function withFormat (name: string, original: string): string {
  const extension = audioExtension(original)
  return extension === undefined || audioExtension(name) !== undefined ? name : `${name}.${extension}`
}

function isFile (value: unknown): value is UploadedFile {
  return typeof property(value, 'open') === 'function' && typeof property(value, 'name') === 'string'
}
