/** Writes the sandbox's texts: the echo, the story, the reasoning, and summaries of tool results. */

import { hash, randomFrom } from './random.ts'
import type { ChatBody } from './chat-body.ts'
import type { Question } from './last-message.ts'
import type { Character } from './sandbox-models.ts'

// More of a question than this is not repeated: the limit of an answer would cut it anyway.
const maxQuoteLength = 100_000
// Agents send instructions of many pages, which would drown the rest of the answer.
const maxInstructionsLength = 400
const storyWords = 120

const heroes = [
  'a young engineer',
  'the old lighthouse',
  'a patient robot',
  'the night train',
  'a curious fox',
  'the last librarian'
]
const deeds = [
  'found',
  'repaired',
  'followed',
  'remembered',
  'built',
  'listened to',
  'wrote down',
  'carried'
]
const things = [
  'a quiet river',
  'the missing key',
  'seven small lanterns',
  'a letter without an address',
  'the broken clock',
  'a song about rain'
]
const places = [
  'beyond the harbour',
  'under the bridge',
  'before the morning came',
  'in a town without streets',
  'while the snow fell',
  'at the edge of the map'
]
const thoughts = [
  'First I look at the question.',
  'I am a simulator, so I have no knowledge to draw on.',
  'What I can do is repeat the question faithfully.',
  'I check whether a tool was named, and whether one was offered.',
  'I check whether a form was requested, such as JSON.',
  'Nothing here needs the network.',
  'The same question must always get the same answer.',
  'That settles it.'
]
const sentences = { none: 0, minimal: 1, low: 2, medium: 4, high: 6, xhigh: 8, max: 8 }

export interface TextOptions {
  readonly voice: Character['voice']
  /** The text has exactly so many words. Default: as many as it takes. */
  readonly words: number | undefined
  /** Varies a story, as it varies the sampling of a model. */
  readonly seed: number
  /** The number among several answers to the same question, from 0. */
  readonly choice: number
}

/** Returns the text of one choice. Choices after the first say which one they are. */
export function composeText (question: Question, { voice, words, seed, choice }: TextOptions): string {
  const random = randomFrom(hash(question.text) ^ seed ^ Math.imul(choice, 0x9e3779b1))
  const opening = choice === 0 ? '' : `(Answer ${choice + 1}.) `
  if (question.results.length === 0 && voice === 'story') {
    return fitted(opening, words ?? requestedWords(question.text) ?? storyWords, random)
  }
  const text = opening + (question.results.length > 0 ? reportOf(question) : echoOf(question))
  return words === undefined ? text : fitted(text, words, random)
}

/** @param effort of the request: from `none`, which gives no reasoning, to `max` */
export function composeReasoning (effort: ChatBody['reasoning_effort']): string {
  return thoughts.slice(0, sentences[effort ?? 'medium']).join(' ')
}

function echoOf ({ text, instructions, attachments }: Question): string {
  const parts = ["This is Headgate's sandbox, a simulator without a model behind it."]
  if (instructions !== '') {
    parts.push(`My instructions are: "${instructions.slice(0, maxInstructionsLength)}".`)
  }
  parts.push(text === '' ? 'Your message is empty.' : `You said: "${text.slice(0, maxQuoteLength)}".`)
  if (attachments.length > 0) parts.push(`With it came ${attachments.join(' and ')}.`)
  return parts.join(' ')
}

function reportOf ({ results }: Question): string {
  return results
    .map(({ name, text }) => `The tool ${name} returned: ${text.slice(0, maxQuoteLength)}`)
    .join('\n')
}

/** Finds `a story of 300 words`: the number, within reason. */
function requestedWords (text: string): number | undefined {
  const number = Number(/\b(\d{1,5})[ -]words?\b/i.exec(text)?.[1])
  return number >= 1 ? Math.min(number, 10_000) : undefined
}

/** Returns the text, cut or written on to exactly so many words. */
function fitted (text: string, count: number, random: () => number): string {
  const words = text.split(/\s+/).filter(word => word !== '')
  while (words.length < count) words.push(...sentence(random).split(' '))
  return words.slice(0, count).join(' ')
}

function sentence (random: () => number): string {
  const pick = (list: readonly string[]): string => list[Math.floor(random() * list.length)] ?? ''
  const text = `${pick(heroes)} ${pick(deeds)} ${pick(things)} ${pick(places)}.`
  return text.charAt(0).toUpperCase() + text.slice(1)
}
