import { ValidationError } from '../core/errors.ts'

/** Returns the error for a list in the body with more items than the configuration allows. */
export function tooLong (loc: ReadonlyArray<string | number>, length: number, max: number): ValidationError {
  return new ValidationError([{
    loc: ['body', ...loc],
    msg: `List should have at most ${max} items after validation, not ${length}`,
    type: 'too_long',
    ctx: { field_type: 'List', max_length: max, actual_length: length }
  }])
}
