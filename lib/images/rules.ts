/**
 * What an image model can be asked, as data: one row per family. A model of no known family (newer
 * ones, those of other providers) gets the row that forbids nothing; its provider will say.
 */

import { GatewayError } from '../core/errors.ts'
import type { UploadedFile } from '../core/upload.ts'

/** What is done to get an image. */
export type ImageTask = 'generation' | 'edit' | 'variation'

/** The fields of any of the three requests that a rule looks at. */
export interface ImageParameters {
  /** The files to change, or the one. */
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

export interface ImageFamily {
  readonly tasks: readonly ImageTask[]
  /** In code points. */
  readonly promptCharacters: number
  readonly maxImages: number
  /** Absent: any. */
  readonly sizes?: readonly string[]
  readonly qualities?: readonly string[]
  readonly unsupported: ReadonlyArray<keyof ImageParameters>
  /** What a file to change must be. */
  readonly files: 'square-png' | 'any'
  /** Files to change in one request; absent: any number. */
  readonly maxFiles?: number
}

/** What only the newest family knows. */
const newestOnly = [
  'output_format', 'output_compression', 'stream', 'partial_images', 'moderation', 'background', 'input_fidelity'
] as const

/** By the trait `image_rules` of the model catalogue. */
export const imageFamilies: Readonly<Record<string, ImageFamily>> = {
  'dall-e-2': {
    tasks: ['generation', 'edit', 'variation'],
    promptCharacters: 1000,
    maxImages: 10,
    sizes: ['256x256', '512x512', '1024x1024'],
    qualities: ['auto', 'standard'],
    unsupported: [...newestOnly, 'style'],
    files: 'square-png',
    maxFiles: 1
  },
  'dall-e-3': {
    tasks: ['generation'],
    promptCharacters: 4000,
    maxImages: 1,
    sizes: ['1024x1024', '1792x1024', '1024x1792'],
    qualities: ['auto', 'hd', 'standard'],
    unsupported: newestOnly,
    files: 'any'
  },
  'gpt-image': {
    tasks: ['generation', 'edit'],
    promptCharacters: 32_000,
    maxImages: 10,
    sizes: ['auto', '1024x1024', '1536x1024', '1024x1536'],
    qualities: ['auto', 'high', 'medium', 'low'],
    unsupported: ['style', 'response_format'],
    files: 'any'
  }
}

export const anyImageFamily: ImageFamily = {
  tasks: ['generation', 'edit', 'variation'],
  promptCharacters: Infinity,
  maxImages: 10,
  unsupported: [],
  files: 'any'
}

/** @param trait `image_rules` of the model, if there is one */
export function familyOf (trait: unknown): ImageFamily {
  return typeof trait === 'string' && Object.hasOwn(imageFamilies, trait)
    ? imageFamilies[trait] ?? anyImageFamily
    : anyImageFamily
}

/** True when the newest family must be meant, because no other understands the request. */
export function needsNewestFamily (request: ImageParameters): boolean {
  const { quality = '', size = '' } = request
  return fileCount(request) > 1 || newestOnly.some(field => isAsked(request, field)) ||
    ['high', 'medium', 'low'].includes(quality) || ['1536x1024', '1024x1536', 'auto'].includes(size)
}

/**
 * Checks a request against a family and against itself.
 *
 * @throws GatewayError `unsupported_parameter` for what the family does not have, `invalid_value`
 *   for what it has but not like this; both with the parameter's name
 */
export function checkImageRules (request: ImageParameters, family: ImageFamily, task: ImageTask, model: string): void {
  if (!family.tasks.includes(task)) {
    throw new GatewayError('unsupported_parameter', { message: `${model} cannot do this; it is for ${family.tasks.join(', ')}.`, param: 'model' })
  }
  for (const field of family.unsupported) {
    if (isAsked(request, field)) {
      throw new GatewayError('unsupported_parameter', { message: `${model} does not support \`${field}\`.`, param: field })
    }
  }
  const { prompt = '', n = 1, size, quality } = request
  if (isLonger(prompt, family.promptCharacters)) {
    throw invalid('prompt', `${model} takes prompts of at most ${family.promptCharacters} characters.`)
  }
  if (n > family.maxImages) throw invalid('n', `${model} makes at most ${family.maxImages} per request.`)
  if (fileCount(request) > (family.maxFiles ?? Infinity)) {
    throw invalid('image', `${model} takes at most ${family.maxFiles} image to change.`)
  }
  checkOneOf('size', size, family.sizes, model)
  checkOneOf('quality', quality, family.qualities, model)
  checkOutput(request)
}

function fileCount ({ image = [] }: ImageParameters): number {
  return Array.isArray(image) ? image.length : 1
}

/** `false` asks for nothing: a client that always writes `stream` out is no mistake. */
function isAsked (request: ImageParameters, field: keyof ImageParameters): boolean {
  return request[field] !== undefined && request[field] !== false
}

/** Whether a text has more code points than `limit`, without counting further than that. */
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
  if (value === undefined || allowed === undefined || allowed.includes(value)) return
  throw invalid(param, `${model} allows ${allowed.map(word => `\`${word}\``).join(', ')} as \`${param}\`.`)
}

function checkOutput (request: ImageParameters): void {
  const { output_format: format = 'png', output_compression: compression, background } = request
  if (background === 'transparent' && format === 'jpeg') {
    throw invalid('background', 'A transparent background needs `output_format` png or webp.')
  }
  // 100 is what a request without the field has anyway, whatever the format.
  if (compression !== undefined && compression !== 100 && format === 'png') {
    throw invalid('output_compression', 'Compression needs `output_format` webp or jpeg.')
  }
}

function invalid (param: string, message: string): GatewayError {
  return new GatewayError('invalid_value', { message, param })
}
