/**
 * Reads members of object literals.
 *
 * @module
 */
import { Node, type ObjectLiteralExpression } from "ts-morph";
import { unwrap } from "./unit.ts";

/** Returns the value of a member; undefined if there is none, or if it is not an inline value. */
export function memberOf(literal: Node | undefined, name: string): Node | undefined {
  const object = unwrap(literal);
  if (!Node.isObjectLiteralExpression(object)) return undefined;
  const property = object.getProperty(name);
  if (Node.isShorthandPropertyAssignment(property)) return property.getNameNode();
  return Node.isPropertyAssignment(property) ? property.getInitializer() : undefined;
}

/** The value of a member that is a string literal. */
export function textOf(literal: Node | undefined, name: string): string | undefined {
  const value = unwrap(memberOf(literal, name));
  return Node.isStringLiteral(value) || Node.isNoSubstitutionTemplateLiteral(value)
    ? value.getLiteralValue()
    : undefined;
}

/** Whether an object literal has members that cannot be read by name. */
export function hasUnknownMembers(literal: ObjectLiteralExpression): boolean {
  return literal
    .getProperties()
    .some(
      (each) =>
        Node.isSpreadAssignment(each) ||
        (Node.isPropertyAssignment(each) && Node.isComputedPropertyName(each.getNameNode())),
    );
}
