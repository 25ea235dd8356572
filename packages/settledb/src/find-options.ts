/**
 * Selectors and sorts that know the documents: a misspelt field or a comparison with another type is an error of the compiler. Where
 * the content is not described, any selector will do.
 */
import type { FindRequest, Selector } from '@settledb/core';
import type { AnyContent } from './options';

/** A {@link FindRequest} for documents with this content. */
export type FindOptions<Content extends object = AnyContent> = Omit<
  FindRequest,
  'selector' | 'sort' | 'fields'
> & {
  readonly selector: TypedSelector<Content>;
  /** Paths to answer. Default: whole documents. */
  readonly fields?: readonly FieldPath<Content>[] | undefined;
  readonly sort?:
    | readonly (FieldPath<Content> | { readonly [path in FieldPath<Content>]?: 'asc' | 'desc' })[]
    | undefined;
};

/** A selector for documents with this content. Dotted paths are taken as they are. */
export type TypedSelector<Content extends object> = Content extends unknown
  ? string extends keyof Content
    ? Selector
    : FieldConditions<Content & Meta> & Combined<Content>
  : never;

interface Meta {
  readonly _id: string;
  readonly _rev: string;
}

type Combined<Content extends object> = {
  readonly [operator in '$and' | '$or' | '$nor']?: readonly TypedSelector<Content>[];
} & { readonly $not?: TypedSelector<Content> } & { readonly [path: `${string}.${string}`]: unknown };

type FieldConditions<Fields> = { readonly [name in keyof Fields]?: Condition<NonNullable<Fields[name]>> };

/** A value, or conditions on it; of an object also conditions on its fields. */
type Condition<Value> =
  | Value
  | null
  | Operators<Value>
  | (Value extends readonly unknown[] ? never : Value extends object ? FieldConditions<Value> : never);

type Element<Value> = Value extends readonly (infer Each)[] ? Each : Value;
type TypeName = 'null' | 'boolean' | 'number' | 'string' | 'array' | 'object';

/** CouchDB's operators. Comparing with `null` asks for what sorts after it: everything that is there. */
interface Operators<Value> {
  readonly $eq?: Value | null;
  readonly $ne?: Value | null;
  readonly $gt?: Value | null;
  readonly $gte?: Value | null;
  readonly $lt?: Value | null;
  readonly $lte?: Value | null;
  readonly $in?: readonly (Element<Value> | null)[];
  readonly $nin?: readonly (Element<Value> | null)[];
  readonly $all?: readonly Element<Value>[];
  readonly $exists?: boolean;
  readonly $type?: TypeName;
  readonly $size?: number;
  readonly $mod?: readonly [divisor: number, remainder: number];
  readonly $regex?: string | RegExp;
  readonly $beginsWith?: string;
  readonly $elemMatch?: Condition<Element<Value>> & object;
  readonly $allMatch?: Condition<Element<Value>> & object;
  readonly $keyMapMatch?: Operators<string>;
  readonly $not?: Operators<Value>;
  readonly $and?: readonly Operators<Value>[];
  readonly $or?: readonly Operators<Value>[];
  readonly $nor?: readonly Operators<Value>[];
}

/** A field, or a path that begins with one. */
export type FieldPath<Content extends object> = string extends keyof Content
  ? string
  : Names<Content> | `${Names<Content>}.${string}`;
type Names<Content> = Content extends unknown ? (keyof Content & string) | '_id' | '_rev' : never;
