#include <vector>

namespace shapes {

/// A shape.
class Shape {
public:
    virtual ~Shape() = default;

    virtual double area() const {
        return 0.0;
    }

private:
    int id_;
};

template <typename T>
T largest(const std::vector<T>& all) {
    return all.back();
}

}  // namespace shapes

double shapes::Shape::scale(double by) {
    return by * 2;
}

enum class Color {
    Red,
    Green,
};
