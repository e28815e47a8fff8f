/** Checks image requests against what the model accepts, according to the catalogue and the configuration. */

import { GatewayError, invalidValue } from '../core/errors.ts'
import type { Traits } from '../core/model.ts'
import type { UploadedFile } from '../core/upload.ts'

type ImageTraits = NonNullable<Traits['images']>

/** Ways to get an image. */
export type ImageTask = NonNullable<ImageTraits['tasks']>[number]

/** The fields of all three kinds of requests that a rule reads. */
export interface ImageParameters {
  /** The files to edit. */
  readonly image?: UploadedFile | readonly UploadedFile[]
  readonly prompt?: string
  readonly n?: number
  readonly size?: string
  readonly quality?: string
  readonly style?: string
  readonly response_format?: string
  readonly output_format?: string
  readonly output_compression?: number
  readonly background?: string
  readonly moderation?: string
  readonly input_fidelity?: string
  readonly stream?: boolean
  readonly partial_images?: number
}

/** The requests that an image model accepts; the defaults forbid nothing. */
export interface ImageFamily extends Required<Omit<ImageTraits, 'sizes' | 'qualities'>> {
  /** Absent: any. */
  readonly sizes?: readonly string[] | undefined
  readonly qualities?: readonly string[] | undefined
}

/** A model of no known family: its provider refuses what it cannot do. */
export const anyImageFamily: ImageFamily = {
  tasks: ['generation', 'edit', 'variation'],
  maxPromptCharacters: Infinity,
  maxImages: 10,
  unsupported: [],
  files: 'any',
  maxFiles: Infinity
}

/** Fills in the defaults of a model's traits. */
export function familyOf (traits: ImageTraits | undefined): ImageFamily {
  return traits === undefined ? anyImageFamily : { ...anyImageFamily, ...traits }
}

/**
 * Returns true if a family supports the task and every parameter of a request, whatever their lengths and
 * numbers.
 */
export function hasParameters (
  { tasks, unsupported, sizes, qualities, maxFiles }: ImageFamily,
  request: ImageParameters,
  task: ImageTask
): boolean {
  const { size, quality } = request
  return (
    tasks.includes(task) &&
    fileCount(request) <= maxFiles &&
    isOneOf(size, sizes) &&
    isOneOf(quality, qualities) &&
    !unsupported.some(field => asksFor(request, field))
  )
}

/**
 * Checks a request against a family and against itself.
 *
 * @throws GatewayError `unsupported_parameter` for what the family does not have, `invalid_value`
 *   for what it has but not like this; both with the parameter's name
 */
export function checkImageRules (
  request: ImageParameters,
  family: ImageFamily,
  task: ImageTask,
  model: string
): void {
  if (!family.tasks.includes(task)) {
    throw new GatewayError('unsupported_parameter', {
      message: `${model} does not support this endpoint. Its tasks are ${family.tasks.join(', ')}.`,
      param: 'model'
    })
  }
  for (const field of family.unsupported) {
    if (asksFor(request, field)) {
      throw new GatewayError('unsupported_parameter', {
        message: `${model} does not support \`${field}\`.`,
        param: field
      })
    }
  }
  const { prompt = '', n = 1, size, quality } = request
  if (isLonger(prompt, family.maxPromptCharacters)) {
    throw invalidValue('prompt', `${model} accepts prompts of at most ${family.maxPromptCharacters} characters.`)
  }
  if (n > family.maxImages) {
    throw invalidValue('n', `${model} makes at most ${family.maxImages} images per request.`)
  }
  if (fileCount(request) > family.maxFiles) {
    throw invalidValue('image', `${model} accepts at most ${family.maxFiles} image to edit.`)
  }
  checkOneOf('size', size, family.sizes, model)
  checkOneOf('quality', quality, family.qualities, model)
  checkOutput(request)
}

function fileCount ({ image = [] }: ImageParameters): number {
  return Array.isArray(image) ? image.length : 1
}

/**
 * Returns true if a field asks for something that a model without this field does not do anyway: clients
 * write out `stream: false`, and models without a `response_format` always answer in base64.
 */
function asksFor (request: ImageParameters, field: string): boolean {
  const value = request[field as keyof ImageParameters] // a name of the catalogue or the configuration
  return value !== undefined && value !== false && !(field === 'response_format' && value === 'b64_json')
}

/** Returns true for a text of more code points than `limit`, without counting further than that. */
function isLonger (text: string, limit: number): boolean {
  if (text.length <= limit) return false
  if (text.length > 2 * limit) return true
  let count = 0
  for (const _ of text) if (++count > limit) return true
  return false
}

function checkOneOf (
  param: string, value: string | undefined, allowed: readonly string[] | undefined, model: string
): void {
  if (allowed === undefined || isOneOf(value, allowed)) return
  throw invalidValue(
    param,
    `For ${model}, \`${param}\` must be one of ${allowed.map(word => `\`${word}\``).join(', ')}.`
  )
}

function isOneOf (value: string | undefined, allowed: readonly string[] | undefined): boolean {
  return value === undefined || allowed === undefined || allowed.includes(value)
}

function checkOutput (request: ImageParameters): void {
  const { output_format: format = 'png', output_compression: compression, background } = request
  if (background === 'transparent' && format === 'jpeg') {
    throw invalidValue('background', 'A transparent background requires `output_format` to be `png` or `webp`.')
  }
  // 100 is what a request without the field has anyway, whatever the format.
  if (compression !== undefined && compression !== 100 && format === 'png') {
    throw invalidValue(
      'output_compression',
      '`output_compression` requires `output_format` to be `webp` or `jpeg`.'
    )
  }
}
