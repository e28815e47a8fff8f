/** Patterns that the configuration refers to by name. */

import { isIP } from 'node:net'

export interface BuiltInPattern {
  /** Global. May look at one character before and after its match. */
  readonly expression: RegExp
  /** Length of the longest match, in characters. */
  readonly maxLength: number
  /**
   * A character that every match contains; texts without it are not searched. Default: all texts are
   * searched.
   */
  readonly mark?: string
  /**
   * Validates a match, such as its check digits. Returns where the finding ends within it; `undefined` if it
   * is none. Default: the whole match.
   */
  readonly endOf?: (match: string) => number | undefined
}

function digitsOf (text: string): number[] {
  return text.replaceAll(/\D/g, '').split('').map(Number)
}

/** Checks a card number with the Luhn algorithm. */
function isLuhn (digits: readonly number[]): boolean {
  let sum = 0
  for (const [index, digit] of digits.toReversed().entries()) {
    const doubled = digit * (index % 2 + 1)
    sum += doubled > 9 ? doubled - 9 : doubled
  }
  return sum % 10 === 0
}

const [minCardDigits, maxCardDigits] = [13, 19]

/** Returns the end of the longest prefix that is a card number; an expiry date may follow it. */
function cardEnd (match: string): number | undefined {
  for (let end = match.length; end >= minCardDigits; end--) {
    if (end < match.length && /\d/.test(match[end] ?? '')) continue
    const digits = digitsOf(match.slice(0, end))
    if (digits.length < minCardDigits) return undefined
    if (
      /\d/.test(match[end - 1] ?? '') &&
      digits.length <= maxCardDigits &&
      isLuhn(digits) &&
      new Set(digits).size > 1
    ) {
      return end
    }
  }
  return undefined
}

/** Returns the remainder of a number of any length; letters stand for 10 to 35. */
function remainder (text: string, divisor: number): number {
  let left = 0
  for (const character of text) {
    const value = Number.parseInt(character, 36)
    left = (left * (value > 9 ? 100 : 10) + value) % divisor
  }
  return left
}

/** Returns the end of the longest prefix with valid IBAN check digits. */
function ibanEnd (match: string): number | undefined {
  for (let end = match.length; end >= 15; end--) {
    if (end < match.length && /[A-Za-z\d]/.test(match[end] ?? '')) continue
    const text = match.slice(0, end).replaceAll(/\s/g, '')
    if (text.length < 15 || text.length > 34 || /\s$/.test(match.slice(0, end))) continue
    if (remainder(text.slice(4) + text.slice(0, 4), 97) === 1) return end
  }
  return undefined
}

function whole (isRight: (match: string) => boolean): (match: string) => number | undefined {
  return match => isRight(match) ? match.length : undefined
}

const dniLetters = 'TRWAGMYFPDXBNJZSQVHLCKE'

/** Spain: the letter encodes the number modulo 23. For foreigners X, Y and Z stand for 0, 1 and 2. */
function isDni (match: string): boolean {
  const text = match.replaceAll(/[ -]/g, '').toUpperCase()
  const number = Number(text.slice(0, -1).replace(/^[XYZ]/, letter => String('XYZ'.indexOf(letter))))
  return dniLetters[number % 23] === text.at(-1)
}

/** France: the last two digits are the check digits modulo 97; 2A and 2B are Corsica. */
function isInsee (match: string): boolean {
  const text = match.replaceAll(/[ .]/g, '').toUpperCase()
  return (
    97 - remainder(text.slice(0, 13).replace('2A', '19').replace('2B', '18'), 97) === Number(text.slice(13))
  )
}

/** Germany: ISO 7064, mod 11,10; one of the first ten digits occurs two or three times. */
function isGermanTaxId (match: string): boolean {
  const digits = digitsOf(match)
  const first = digits.slice(0, 10)
  if (![8, 9].includes(new Set(first).size)) return false
  let product = 10
  for (const digit of first) {
    const sum = (digit + product) % 10
    product = (sum === 0 ? 10 : sum) * 2 % 11
  }
  return (11 - product) % 10 === digits[10]
}

function isPhone (match: string): boolean {
  const { length } = digitsOf(match)
  return length >= 7 && length <= 15
}

export const builtInPatterns = {
  card_number: {
    // The lookbehind comes second, because most characters are not digits.
    expression: /[2-6](?<![\d.][2-6])(?:[ \u00a0\u202f-]?\d){12,18}(?!\d)/g,
    maxLength: 37,
    endOf: cardEnd
  },
  iban: {
    expression: /\b[A-Za-z]{2}\d\d(?:[ \u00a0\u202f]?[A-Za-z\d]){11,30}\b/g,
    maxLength: 64,
    endOf: ibanEnd
  },
  email: {
    expression:
      /(?<![\w.%+-])[\w%+-](?:[\w%+-]|\.(?=[\w%+-])){0,63}@(?:[A-Za-z\d](?:[A-Za-z\d-]{0,62})\.){1,4}[A-Za-z]{2,24}(?![\w-])/g,
    maxLength: 345,
    mark: '@'
  },
  phone: {
    expression: /(?<![\w+])(?:\+|00)[1-9]\d{0,2}(?:[ \u00a0\u202f.-]?\(?\d{1,5}\)?){2,6}(?!\w)/g,
    maxLength: 54,
    endOf: whole(isPhone)
  },
  ip_address: {
    expression:
      /(?<![\w.:])(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.(?:25[0-5]|2[0-4]\d|1?\d?\d)){3}|[\da-fA-F]{1,4}(?::[\da-fA-F]{0,4}){2,6}:[\da-fA-F]{1,4})(?![\w:]|\.\d)/g,
    maxLength: 39,
    endOf: whole(match => isIP(match) !== 0)
  },
  us_ssn: { expression: /(?<![\w-])(?!000|666|9)\d{3}-(?!00)\d\d-(?!0000)\d{4}(?![\w-])/g, maxLength: 11 },
  uk_nino: {
    expression: /\b(?!BG|GB|KN|NK|NT|TN|ZZ)[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?\d\d ?\d\d ?\d\d ?[A-D]\b/gi,
    maxLength: 13
  },
  es_dni: { expression: /\b[XYZ\d]-?\d{7}[ -]?[A-Z]\b/gi, maxLength: 11, endOf: whole(isDni) },
  fr_insee: {
    expression: /\b[1-478] ?\d\d ?(?:0[1-9]|1[0-2]|[2-9]\d) ?(?:\d\d|2[ABab]) ?\d{3} ?\d{3} ?\d\d\b/g,
    maxLength: 21,
    endOf: whole(isInsee)
  },
  de_tax_id: { expression: /\b[1-9]\d ?\d{3} ?\d{3} ?\d{3}\b/g, maxLength: 14, endOf: whole(isGermanTaxId) },
  api_key: {
    // OpenAI and Anthropic, xAI, Groq, Hugging Face, Google, AWS, GitHub, GitLab, Slack, Stripe, SendGrid,
    // npm, PyPI
    expression:
      /\b(?:sk-[\w-]{20,208}|xai-[A-Za-z\d]{20,120}|gsk_[A-Za-z\d]{20,100}|hf_[A-Za-z\d]{30,60}|AIza[\w-]{35}|(?:AKIA|ASIA)[A-Z\d]{16}|gh[pousr]_[A-Za-z\d]{36,100}|github_pat_\w{22,120}|glpat-[\w-]{20,60}|xox[abeoprs]-[A-Za-z\d-]{10,120}|(?:sk|rk|pk)_(?:live|test)_[A-Za-z\d]{16,120}|SG\.[\w-]{16,32}\.[\w-]{16,64}|npm_[A-Za-z\d]{36}|pypi-[\w-]{50,200})(?![\w-])/g,
    maxLength: 212
  }
} as const satisfies Readonly<Record<string, BuiltInPattern>>

export type BuiltInName = keyof typeof builtInPatterns
export const builtInNames = Object.keys(builtInPatterns) as BuiltInName[] // keys of the object
